// The page without a mouse: where the focus is, and which keys do what.
import assert from 'node:assert';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { dialog, launch, openPage } from './browser.mjs';
import { Server, until } from './server.mjs';

let server;
let browser;
let tab;
let page;

before(async () => {
  server = await Server.start();
  for (let i = 0; i < 3; i++)
    await server.push('mail', '{"a": {"b": {"c": 1}}}', { id: `job-${i}`, delay: '1h' });
  await server.push('other', 'x', { id: 'a' });
  browser = await launch();
});

beforeEach(async () => {
  tab = await openPage(browser, server);
  ({ page } = tab);
});

afterEach(async () => {
  await tab.close();
  tab.check();
});

after(async () => {
  await browser.close();
  await server.end();
});

const focused = () => page.evaluate(() => {
  const { activeElement: element } = document;
  return { tag: element.tagName, text: (element.getAttribute('aria-label') ?? element.textContent).trim() };
});

async function press(...keys) {
  for (const key of keys)
    await page.keyboard.press(key);
}

// Presses Tab until the focus is on an element with that text.
async function tabTo(text) {
  for (let i = 0; i < 60; i++) {
    await press('Tab');
    if ((await focused()).text === text)
      return;
  }
  assert.fail(`Tab does not reach ${text}`);
}

test('the first Tab is the skip link, which leads past the navigation', async () => {
  await tab.go('#/');
  await press('Tab');
  assert.deepStrictEqual(await focused(), { tag: 'A', text: 'Skip to content' });
  await press('Enter');
  assert.strictEqual((await focused()).tag, 'MAIN');
  assert.strictEqual(new URL(page.url()).hash, '#/');
});

test('the focus can be seen wherever it is', async () => {
  await tab.go('#/topics/mail/jobs');
  for (let i = 0; i < 40; i++) {
    await press('Tab');
    const isSeen = await page.evaluate(() => {
      const { activeElement: element } = document;
      const style = getComputedStyle(element.type === 'radio' ? element.nextElementSibling : element);
      return element === document.body || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1);
    });
    assert.ok(isSeen, `the focus on ${JSON.stringify(await focused())} cannot be seen`);
  }
});

test('a change of the view moves the focus to its heading', async () => {
  await tab.go('#/');
  await tabTo('mail');
  await press('Enter');
  await page.getByRole('heading', { name: 'mail' }).waitFor();
  await until('the heading has the focus', async () => (await focused()).tag === 'H1');
  await page.goBack();
  await page.getByRole('heading', { name: 'Topics' }).waitFor();
  await until('the heading has the focus', async () => (await focused()).text === 'Topics');
});

test('keys lead to each place, to the search, along the rows, and to the list of the keys', async () => {
  await tab.go('#/');
  for (const [key, heading] of [['r', 'Recurring jobs'], ['w', 'Workers'], ['s', 'Server'], ['t', 'Topics']]) {
    await press('g', key);
    await page.getByRole('heading', { name: heading, exact: true, level: 1 }).waitFor();
  }
  await page.getByRole('link', { name: 'mail' }).waitFor();
  await press('j');
  assert.strictEqual((await focused()).text, 'mail');
  await press('j');
  assert.strictEqual((await focused()).text, 'other');
  await press('k', '/');
  assert.strictEqual((await focused()).text, 'Topics whose name matches');
  await press('?');
  assert.strictEqual(await dialog(page).count(), 0, 'a key that is typed is text');
  await page.getByRole('heading', { name: 'Topics' }).click();
  await press('?');
  await dialog(page).getByRole('heading', { name: 'Keys' }).waitFor();
  await press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
});

test('a job is pushed, found, rescheduled and cancelled with keys alone', async () => {
  await tab.go('#/topics/mail/jobs');
  await press('n');
  await dialog(page).waitFor();
  await page.keyboard.type('hello');
  await press('Tab');
  await page.keyboard.type('typed');
  await press('Tab');
  await page.keyboard.type('1h');
  await press('Enter');
  await dialog(page).waitFor({ state: 'detached' });
  await press('/');
  await page.keyboard.type('typed');
  await press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length === 1);
  await tabTo('typed');
  await press('Enter');
  await page.getByRole('button', { name: 'Reschedule' }).waitFor();
  await tabTo('Reschedule');
  await press('Enter');
  await dialog(page).waitFor();
  await page.keyboard.type('2d');
  await press('Enter');
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByText('1 job rescheduled').waitFor();
  const job = await server.api('GET', '/v1/topics/mail/jobs/typed');
  assert.ok(job.due - job.pushed > 100000000);
  await page.getByRole('heading', { name: 'typed' }).focus();
  await tabTo('Cancel');
  await press('Enter');
  assert.notStrictEqual((await focused()).text, 'Cancel 1 job', 'what removes is not what Enter does by itself');
  await tabTo('Cancel 1 job');
  await press('Enter');
  await dialog(page).waitFor({ state: 'detached' });
  await until('it is cancelled', () => server.api('GET', '/v1/topics/mail/jobs/typed').then(() => false, () => true));
  await tabTo('Undo');
  await press('Enter');
  await until('it is back', () => server.api('GET', '/v1/topics/mail/jobs/typed').then(() => true, () => false));
});

test('a dialog keeps the focus, and gives it back', async () => {
  await tab.go('#/topics/mail');
  await tabTo('Pause …');
  await press('Enter');
  for (let i = 0; i < 12; i++) {
    await press('Tab');
    assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest('dialog') !== null));
  }
  await press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  assert.strictEqual((await focused()).text, 'Pause …');
});

test('rows are selected with Space, JSON is folded with Enter, a chart is read with the arrow keys', async () => {
  await tab.go('#/topics/mail/jobs');
  await tabTo('Select job-1');
  await press('Space');
  await page.getByText('1 selected').waitFor();
  await tab.go('#/topics/mail/jobs/job-1');
  const shown = () => page.getByText('c:').isVisible();
  assert.strictEqual(await shown(), false);
  await page.locator('.json summary').last().focus();
  await press('Enter');
  await until('it is open', shown);
  await tab.go('#/topics/mail');
  const bars = page.locator('svg.chart').last();
  await bars.focus();
  await press('ArrowRight');
  await page.getByText(/jobs 3$/).waitFor();
});
