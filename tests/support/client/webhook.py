#!/usr/bin/env python3
"""An HTTP server that takes jobs, for tests of dueq forward.

    webhook.py DESCRIPTOR DIRECTORY [CERTIFICATE KEY]

DESCRIPTOR is a socket that listens.

Each request becomes a line of DIRECTORY/requests: path, topic, id, attempt, whether the signature
is that of DIRECTORY/secret, and the body as JSON has it. The file DIRECTORY/answer says what comes
back: a status and headers ("503 Retry-After:1"), "hang" (nothing, ever), "cut" (the connection
ends); without it 204. A body that begins with "answer " says it for itself.
"""
import hashlib
import hmac
import http.server
import json
import os
import socket
import ssl
import sys
import threading

directory = sys.argv[2]


def read(name, default):
    try:
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            return file.read().strip() or default
    except OSError:
        return default


def signature_of(header, body):
    parts = dict(part.split("=", 1) for part in header.split(",")) if header else {}
    if "t" not in parts:
        return "unsigned"
    text = parts["t"].encode() + b"." + body
    wanted = hmac.new(read("secret", "").encode(), text, hashlib.sha256).hexdigest()
    return "signed" if hmac.compare_digest(wanted, parts["v1"]) else "forged"


class Webhook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def setup(self):
        super().setup()
        self.connection.setsockopt(6, 1, 1)  # TCP_NODELAY

    def log_message(self, *_):
        pass

    def note(self, body):
        headers = self.headers
        words = [self.path, headers["Dueq-Topic"], headers["Dueq-Id"], headers["Dueq-Attempt"]]
        words += [signature_of(headers["Dueq-Signature"], body), headers["Content-Type"]]
        words += ["same" if headers["Idempotency-Key"] == headers["Dueq-Id"] else "other"]
        words += [headers["Authorization"] or "-", headers["X-More"] or "-"]
        line = " ".join(words) + " " + json.dumps(body.decode("latin-1")) + "\n"
        fd = os.open(os.path.join(directory, "requests"), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.write(fd, line.encode())
        os.close(fd)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.note(body)
        answer = read("answer", "204")
        if body.startswith(b"answer "):
            answer = body[7:].decode()
        if answer == "hang":
            threading.Event().wait()
        if answer == "cut":
            self.close_connection = True
            return
        status, *headers = answer.split()
        text = b"" if status == "204" else b"because"
        self.send_response(int(status))
        for header in headers:
            self.send_header(*header.split(":", 1))
        if status != "204":
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


def main():
    server = Server(("127.0.0.1", 0), Webhook, bind_and_activate=False)
    server.socket.close()
    server.socket = socket.socket(fileno=int(sys.argv[1]))
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


main()
