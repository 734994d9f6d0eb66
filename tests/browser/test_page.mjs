// The page as a whole: what it loads and from where, what it may do, that it lives by what the server tells.
import assert from 'node:assert';
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { launch, openPage } from './browser.mjs';
import { PlainBrowser } from './plain_browser.mjs';
import { Server, until } from './server.mjs';

const PAGE = new URL('../../server/page/', import.meta.url);
const LIMIT = 200 * 1024; // of all files, compressed
let server;
let browser;

before(async () => {
  server = await Server.start();
  browser = await launch();
});

after(async () => {
  await browser.close();
  await server.end();
});

test('its files are small', (context) => {
  const sizes = readdirSync(PAGE).map((name) => gzipSync(readFileSync(new URL(name, PAGE)), { level: 9 }).length);
  const sum = sizes.reduce((all, size) => all + size, 0);
  context.diagnostic(`${sizes.length} files, ${(sum / 1024).toFixed(1)} KiB compressed`);
  assert.ok(sum < LIMIT);
});

test('the page names each of its modules, so that they come at once', () => {
  const read = (name) => readFileSync(new URL(name, PAGE), 'utf8');
  const [, first] = read('index.html').match(/src="(\w+\.js)"/);
  const named = [first, ...[...read(first).match(/FILES = \[(.*?)\]/)[1].matchAll(/'(\w+\.js)'/g)].map(([, name]) => name)].sort();
  assert.deepStrictEqual(named, readdirSync(PAGE).filter((name) => name.endsWith('.js')).sort());
});

test('it has no code or style inside, and its policy forbids them', async () => {
  const reply = await fetch(`${server.url}/ui/`);
  const policy = reply.headers.get('content-security-policy');
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|data:|http/);
  assert.doesNotMatch(await reply.text(), /<style|style=|<script(?![^>]*src=)|\son\w+=/);
  for (const name of readdirSync(PAGE).filter((file) => file.endsWith('.js')))
    assert.doesNotMatch(readFileSync(new URL(name, PAGE), 'utf8'), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setInterval\((?!\(\) => document\.hidden)/, name);
});

test('what a job says is text, wherever it stands', async () => {
  const evil = '<img src=x onerror="document.title=\'broken\'"><script>document.title="broken"</script>';
  const id = encodeURIComponent(evil);
  await server.push('evil', evil, { id: evil, group: evil });
  await server.push('evil', JSON.stringify({ [evil]: evil }), { id: 'json' });
  const { jobs } = await server.api('POST', '/v1/topics/evil/claim', { worker: evil.slice(0, 60), count: 2 });
  for (const job of jobs)
    await server.api('POST', `/v1/topics/evil/jobs/${encodeURIComponent(job.id)}/nack`, { token: job.token, error: evil, outcome: 'FATAL' });
  await server.push(id, 'x', { id: 'a' });
  await server.api('POST', `/v1/topics/${id}/claim`, { worker: evil.slice(0, 60) });
  const tab = await openPage(browser, server);
  for (const path of ['#/', '#/topics/evil', '#/topics/evil/jobs', `#/topics/evil/jobs/${id}`, '#/topics/evil/jobs/json', '#/topics/evil/dead', '#/workers', `#/topics/${id}`, `#/topics/${id}/settings`]) {
    await tab.go(path);
    assert.strictEqual(await tab.page.locator('main img, main script').count(), 0, path);
    assert.strictEqual(await tab.page.title(), 'dueq', path);
  }
  await tab.go(`#/topics/evil/jobs/${id}`);
  assert.strictEqual(await tab.page.locator('.body-text').first().textContent(), evil);
  tab.check();
  await tab.close();
});

test('bodies are shown as JSON, as text and in hex', async () => {
  await server.push('body', { base64: Buffer.from([0, 255, 65]).toString('base64') }, { id: 'bytes' });
  await server.push('body', '{"deep": {"deeper": {"deepest": 12345}}}', { id: 'json' });
  await server.push('body', 'y'.repeat(200000), { id: 'large' });
  const tab = await openPage(browser, server);
  const text = () => tab.page.locator('.body-text').first().textContent();
  await tab.go('#/topics/body/jobs/bytes');
  assert.match(await text(), /^00000000 {2}00 ff 41 .*··A/);
  await tab.go('#/topics/body/jobs/json');
  assert.match(await text(), /deeper/);
  await tab.page.getByRole('radio', { name: 'Text' }).check({ force: true });
  assert.strictEqual(await text(), '{"deep": {"deeper": {"deepest": 12345}}}');
  await tab.page.keyboard.press('ArrowRight');
  assert.match(await text(), /^00000000 {2}7b 22 64/);
  await tab.go('#/topics/body/jobs/large');
  assert.strictEqual((await text()).length, 200000);
  tab.check();
  await tab.close();
});

test('it shows by itself what others do', async () => {
  await server.push('lively', 'x', { id: 'a', delay: '1h' });
  const overview = await openPage(browser, server);
  const topic = await openPage(browser, server);
  const jobs = await openPage(browser, server);
  const job = await openPage(browser, server);
  await overview.go('#/?match=lively');
  await topic.go('#/topics/lively');
  await jobs.go('#/topics/lively/jobs');
  await job.go('#/topics/lively/jobs/a');
  for (const { page } of [overview, topic, jobs, job])
    await page.getByText('Live', { exact: true }).waitFor();
  await server.api('POST', '/v1/topics/lively/jobs/a/run');
  await server.push('lively', 'x', { id: 'b' });
  await overview.page.getByRole('row', { name: /^lively/ }).locator('.count.is-ready').getByText('2').waitFor();
  await topic.page.getByRole('link', { name: '2 Ready' }).waitFor();
  await jobs.page.getByRole('link', { name: 'b', exact: true }).waitFor();
  await job.page.locator('.why .is-ready').waitFor();
  for (const tab of [overview, topic, jobs, job]) {
    tab.check();
    await tab.close();
  }
});

test('it asks nothing while nothing happens', async () => {
  const tab = await openPage(browser, server);
  await server.push('calm', 'x', { id: 'a', delay: '1h' });
  await tab.go('#/topics/calm/jobs');
  await tab.page.getByText('Live', { exact: true }).waitFor();
  // The seconds are those that the server tells: on a slow machine what was on its way takes longer, and so do they.
  await tab.page.evaluate(() => {
    globalThis.seconds = 0;
    new EventSource('/v1/live').addEventListener('server', () => { globalThis.seconds += 1; });
  });
  let asked = 0;
  tab.page.on('request', () => { asked += 1; });
  await until('four seconds pass without a request', async () => {
    const before = asked;
    const begin = await tab.page.evaluate(() => globalThis.seconds);
    await tab.page.waitForFunction((end) => globalThis.seconds >= end, begin + 4);
    return asked === before;
  });
  await tab.close();
});

test('it goes on when the server is back', async () => {
  const own = await Server.start();
  await own.push('back', 'x', { id: 'a', delay: '1h' });
  const tab = await openPage(browser, own);
  await tab.go('#/topics/back/jobs');
  await tab.page.getByText('Live', { exact: true }).waitFor();
  await own.stop();
  await tab.page.getByText('Reconnecting …').waitFor();
  await tab.page.getByRole('button', { name: 'Find' }).click();
  await tab.page.getByText('The server does not answer').waitFor();
  await own.run();
  await tab.page.getByText('Live', { exact: true }).waitFor();
  await tab.page.getByRole('link', { name: 'a', exact: true }).waitFor();
  await tab.close();
  await own.end();
});

test('a topic of ten thousand jobs and a name of every kind do no harm', async () => {
  for (let i = 0; i < 10; i++)
    await server.api('POST', '/v1/topics/large/push-many', { jobs: Array.from({ length: 1000 }, (_, k) => ({ body: 'x', id: `job-${i * 1000 + k}` })) });
  for (const topic of ['a/b?c#d', 'ä%41 ö', '名前', '{"a"}'])
    await server.push(encodeURIComponent(topic), 'x', { id: topic });
  const tab = await openPage(browser, server);
  await tab.go('#/topics/large/jobs');
  await tab.page.getByText(/^50 shown/).waitFor();
  for (const topic of ['a/b?c#d', 'ä%41 ö', '名前', '{"a"}']) {
    await tab.go('#/');
    await tab.page.getByRole('link', { name: topic, exact: true }).click();
    await tab.page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await tab.page.getByRole('link', { name: topic, exact: true }).click();
    await tab.page.getByRole('heading', { level: 1 }).getByText(topic).waitFor();
    await tab.page.getByRole('heading', { name: 'Body' }).waitFor();
  }
  tab.check();
  await tab.close();
});

test('its first paint is told', async (context) => {
  const plain = new PlainBrowser();
  const times = { 'bare text': [], 'the page': [] };
  for (let i = 0; i < 7; i++) // by turns: a machine with much to do is slow for both
    for (const [what, path] of [['bare text', '/metrics'], ['the page', '/ui/']])
      times[what].push(await plain.firstPaints(`${server.url}${path}`));
  await plain.close();
  for (const [what, pairs] of Object.entries(times)) { // no limit: a time is no test
    const [first, again] = [0, 1].map((which) => pairs.map((pair) => Math.round(pair[which])).sort((a, b) => a - b));
    context.diagnostic(`first contentful paint, ${what}: ${first[3]} ms (${first.join(', ')}); reloaded: ${again[3]} ms (${again.join(', ')}); load ${loadavg()[0].toFixed(1)}`);
  }
});
