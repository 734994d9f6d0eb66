// The server under test, with the dashboard, on free ports and with a store of its own.
import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const DEADLINE = Number(process.env.DEADLINE ?? 60000); // of what is waited for: long, for machines that have much to do

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// Asks again until it is so.
export async function until(what, isSo) {
  const end = Date.now() + DEADLINE;
  for (;;) {
    const found = await isSo();
    if (found)
      return found;
    if (Date.now() > end)
      throw new Error(`in vain: ${what}`);
    await sleep(20);
  }
}

const freePort = () => new Promise((resolve) => {
  const probe = createServer();
  probe.listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});

const quoted = (word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`;

export class Server {
  static async start(...options) {
    const server = new Server();
    server.dir = mkdtempSync(join(tmpdir(), 'dueq-browser-'));
    server.options = options;
    server.port = await freePort();
    server.httpPort = await freePort();
    await server.run();
    return server;
  }

  async run() {
    const log = openSync(join(this.dir, 'log'), 'a');
    this.process = spawn(process.env.DUEQ_BINARY ?? 'build/dueq', ['server', '--port', String(this.port), '--http-port', String(this.httpPort), '--http-api', 'yes',
      '--dashboard', 'yes', '--dir', this.dir, '--segment-size', '1mb', ...this.options], { stdio: ['ignore', log, log] });
    this.ended = new Promise((resolve) => { this.process.once('exit', resolve); });
    let hasEnded = false;
    this.ended.then(() => { hasEnded = true; });
    await until('the server is ready', async () => {
      if (hasEnded)
        throw new Error(`the server did not start:\n${readFileSync(join(this.dir, 'log'), 'utf8')}`);
      return fetch(`${this.url}/readyz`).then((reply) => reply.ok, () => false);
    });
  }

  get url() {
    return `http://127.0.0.1:${this.httpPort}`;
  }

  // Commands in RESP, in order; ends when as many replies of one line each as there are commands have come.
  command(...words) {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, '127.0.0.1');
      let text = '';
      socket.on('data', (data) => {
        text += data;
        if (text.endsWith('\r\n')) {
          socket.destroy();
          resolve(text);
        }
      });
      socket.on('error', reject);
      socket.write(`*${words.length}\r\n${words.map((word) => quoted(String(word))).join('')}`);
    });
  }

  async api(method, path, body) {
    const reply = await fetch(`${this.url}${path}`, { method, headers: { 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
    if (!reply.ok)
      throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
    return reply.json();
  }

  push(topic, body, options) {
    return this.api('POST', `/v1/topics/${topic}/jobs`, { body, ...options });
  }

  async stop() {
    this.process.kill('SIGTERM');
    await this.ended;
  }

  async end() {
    await this.stop();
    rmSync(this.dir, { recursive: true });
  }
}
