"""Runs the examples of docs/http.md: blocks ```http of `$ command` lines, each followed by its reply, on a server
of their own. <name> in a reply stands for a word that varies; later commands may use it."""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PORT_IN_TEXT = '127.0.0.1:9121'


def blocks_of(path):
    """Pairs (line number, lines) of the examples."""
    inside, found = False, []
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            if line.startswith('```'):
                inside = line.strip() == '```http'
                if inside:
                    found.append((number, []))
            elif inside:
                found[-1][1].append(line.rstrip('\n'))
    return found


def steps_of(lines):
    """Pairs (command, reply) of a block."""
    steps = []
    for line in lines:
        if line.startswith('$ '):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return [(command, '\n'.join(reply)) for command, reply in steps]


def filled(text, words):
    return re.sub(r'<([a-z-]+)>', lambda name: words.get(name[1], name[0]), text)


def matched(reply, text, words):
    """Learns the words of `text` that stand for others; False when it is another text."""
    pattern = ''
    for part in re.split(r'(<[a-z-]+>)', filled(reply, words)):
        pattern += r'(?P<%s>[^",}]+)' % part[1:-1] if re.fullmatch('<[a-z-]+>', part) else re.escape(part)
    found = re.fullmatch(pattern, text)
    if found:
        words.update(found.groupdict())
    return found is not None


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Server:
    """A server with an empty store."""

    def __init__(self, binary):
        self.directory = tempfile.mkdtemp(prefix='dueq-docs-')
        self.port = free_port()
        self.process = subprocess.Popen(
            [binary, 'server', '--port', str(free_port()), '--http-port', str(self.port), '--http-api', 'yes',
             '--dir', self.directory, '--segment-size', '1mb'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.run('curl -s -o /dev/null -w "%%{http_code}" http://%s/readyz' % PORT_IN_TEXT) != '200':
            if self.process.poll() is not None:
                sys.exit('the server did not start')
            time.sleep(0.01)

    def run(self, command):
        command = command.replace(PORT_IN_TEXT, '127.0.0.1:%d' % self.port).replace('curl ', 'curl -sS ')
        return subprocess.run(['bash', '-c', command], capture_output=True, text=True, check=False).stdout.strip()

    def end(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory)


def run_block(binary, path, number, lines):
    """Returns how many of its replies are others."""
    server, words, failed = Server(binary), {}, 0
    for command, reply in steps_of(lines):
        text = server.run(filled(command, words))
        if not matched(reply, text, words):
            print('%s:%d: %s\n  expected %s\n  got      %s' % (path, number, command, reply, text))
            failed += 1
    server.end()
    return failed


def main():
    binary, path = os.environ.get('DUEQ_BINARY', 'build/dueq'), 'docs/http.md'
    blocks = blocks_of(path)
    failed = sum(run_block(binary, path, number, lines) for number, lines in blocks)
    print('%s: %d blocks, %d replies that differ' % (path, len(blocks), failed))
    sys.exit(failed > 0 or not blocks)


main()
