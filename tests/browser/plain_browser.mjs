// Chromium as people have it: without what Playwright puts into each page, which takes as long as a first paint.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep, until } from './server.mjs';

const OPTIONS = ['--headless', '--no-sandbox', '--disable-dev-shm-usage', '--no-first-run', '--disable-extensions', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--remote-debugging-pipe'];
const FIRST_PAINT = 'performance.getEntriesByName("first-contentful-paint")[0]?.startTime';

export class PlainBrowser {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), 'dueq-plain-'));
    this.process = spawn(process.env.CHROMIUM ?? '/usr/bin/chromium', [...OPTIONS, `--user-data-dir=${this.dir}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.ended = new Promise((resolve) => { this.process.once('exit', resolve); });
    this.asked = new Map();
    this.last = 0;
    let text = '';
    this.process.stdio[4].on('data', (data) => {
      text += data;
      for (let end = text.indexOf('\0'); end >= 0; end = text.indexOf('\0')) {
        this.take(JSON.parse(text.slice(0, end)));
        text = text.slice(end + 1);
      }
    });
  }

  take({ id, result, error }) {
    const { resolve, reject } = this.asked.get(id) ?? {};
    this.asked.delete(id);
    if (error)
      reject?.(new Error(error.message));
    else
      resolve?.(result);
  }

  send(method, params = {}, sessionId = undefined) {
    this.last += 1;
    return new Promise((resolve, reject) => {
      this.asked.set(this.last, { resolve, reject });
      this.process.stdio[3].write(`${JSON.stringify({ id: this.last, method, params, sessionId })}\0`);
    });
  }

  // The ms from the first look at an address to its first paint, and of a reload; in a window that has seen nothing before.
  async firstPaints(url) {
    const { browserContextId } = await this.send('Target.createBrowserContext');
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const look = async (method, params) => {
      await sleep(300); // for what the browser does after a new window or page
      await this.send(method, params, sessionId);
      await sleep(500); // a question while the page loads would take its time
      return until('it has painted', async () => (await this.send('Runtime.evaluate', { expression: FIRST_PAINT }, sessionId)).result.value);
    };
    const times = [await look('Page.navigate', { url }), await look('Page.reload', {})];
    await this.send('Target.disposeBrowserContext', { browserContextId });
    return times;
  }

  async close() {
    this.send('Browser.close').catch(() => {});
    await this.ended;
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }
}
