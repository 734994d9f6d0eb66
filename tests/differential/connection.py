"""One client connection: raw bytes out, parsed replies in."""

import select
import socket
import time

import resp

PATIENCE = 30.0


class NoReply(Exception):
    """The server did not answer, or closed the connection."""


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()
        self.closed = False

    def close(self):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True

    def receive(self, patience=PATIENCE):
        """The next reply. A server that closes or stays silent for too long is an error."""
        deadline = time.monotonic() + patience
        while True:
            reply = self._take()
            if reply is not None:
                return reply
            if not self._fill(deadline - time.monotonic()):
                raise NoReply("the connection was closed" if self.closed else "no reply")

    def drain(self):
        """Every reply that has arrived, without waiting."""
        replies = []
        while True:
            reply = self._take()
            if reply is not None:
                replies.append(reply)
            elif not self._fill(0):
                return replies

    def call(self, *arguments):
        self.send(resp.encode([_bytes(argument) for argument in arguments]))
        return self.receive()

    def _take(self):
        parsed = resp.parse(self.received)
        if parsed is None:
            return None
        reply, end = parsed
        del self.received[:end]
        return reply

    def _fill(self, patience):
        if self.closed or patience < 0:
            return False
        readable, _, _ = select.select([self.socket], [], [], patience)
        if not readable:
            return False
        try:
            data = self.socket.recv(1 << 16)
        except OSError:
            data = b""
        self.closed = not data
        self.received += data
        return bool(data)


def _bytes(argument):
    return argument if isinstance(argument, bytes) else str(argument).encode()
