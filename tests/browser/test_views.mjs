// Each view in both schemes and at three widths: no violation of axe-core, nothing that is cut, a picture of it.
import assert from 'node:assert';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { dialog, findViolations, launch, openPage, signIn, widthOf } from './browser.mjs';
import { fillDays, fillShop, showBusyDay } from './jobs.mjs';
import { Server, until } from './server.mjs';

const VIEWS = {
  topics: '#/', topic: '#/topics/mail', jobs: '#/topics/mail/jobs', 'jobs-ready': '#/topics/mail/jobs?state=ready', 'jobs-none': '#/topics/mail/jobs?match=nothing*',
  job: '#/topics/mail/jobs/order-1004', 'job-dead': '#/topics/mail/jobs/order-1001', 'job-binary': '#/topics/blobs/jobs/binary', 'job-gone': '#/topics/mail/jobs/none',
  dead: '#/topics/mail/dead', settings: '#/topics/mail/settings', 'topic-workers': '#/topics/mail/workers', events: '#/topics/mail/events', 'job-waiting': '#/topics/mail/jobs/receipt-1', 'jobs-waiting': '#/topics/mail/jobs?state=waiting', 'topics-paused': '#/?only=paused',
  'all-events': '#/events', workers: '#/workers', cron: '#/cron',
  server: '#/server', missing: '#/nowhere',
};
const PICTURES = process.env.PICTURES; // a folder for them
let server;
let browser;

before(async () => {
  server = await Server.start();
  await fillShop(server);
  await fillDays(server);
  browser = await launch();
  if (PICTURES)
    mkdirSync(PICTURES, { recursive: true });
});

after(async () => {
  await browser.close();
  await server.end();
});

const picture = (page, name) => PICTURES && page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });

for (const scheme of ['light', 'dark'])
  for (const [width, height] of [[360, 740], [1280, 800], [3840, 2160]])
    test(`views in ${scheme} at ${width} pixels are whole and accessible`, async () => {
      const tab = await openPage(browser, server, { scheme, width, height });
      for (const [name, path] of Object.entries(VIEWS)) {
        await tab.go(path);
        const { content, window } = await widthOf(tab.page);
        assert.ok(await tab.page.locator('#nav').evaluate((nav) => nav.scrollWidth <= nav.clientWidth + 1), `the places of ${name} at ${width} are cut`);
        assert.ok(content <= window, `${name} at ${width} is ${content} pixels wide`);
        await picture(tab.page, `${name}-${scheme}-${width}`);
        assert.deepStrictEqual(await findViolations(tab.page), [], `${name} in ${scheme} at ${width}`);
      }
      tab.check();
      await tab.close();
    });

for (const scheme of ['light', 'dark'])
  for (const [width, height] of [[360, 740], [1280, 800], [3840, 2160]])
    test(`charts of hours and days in ${scheme} at ${width} pixels are whole and accessible`, async () => {
      const tab = await openPage(browser, server, { scheme, width, height });
      const { page } = tab;
      await showBusyDay(page);
      await tab.go('#/topics/mail');
      for (const [range, ahead] of [['Minutes', '24 hours'], ['Hours', '7 days'], ['Day', '30 days']]) {
        const drawn = () => page.locator('.chart').evaluateAll((charts) => charts.map((chart) => chart.innerHTML).join());
        await page.getByRole('radio', { name: ahead }).check({ force: true });
        const before = await drawn();
        await page.getByRole('radio', { name: range, exact: true }).check({ force: true });
        if (range !== 'Minutes')
          await until(`the charts of ${range} are drawn`, async () => await drawn() !== before);
        await until('all have lines or bars', async () => await page.locator('.chart').evaluateAll((charts) => charts.every((chart) => chart.querySelector('.line, .bars'))));
        const cut = await page.evaluate(() => [...document.querySelectorAll('.chart text')].filter((text) => {
          const [inner, outer] = [text.getBoundingClientRect(), text.closest('svg').getBoundingClientRect()];
          return inner.left < outer.left - 1 || inner.right > outer.right + 1;
        }).map((text) => text.textContent));
        assert.deepStrictEqual(cut, [], `cut at ${width}`);
        const { content, window } = await widthOf(page);
        assert.ok(content <= window, `${range} at ${width} is ${content} pixels wide`);
        await picture(page, `charts-${range}-${scheme}-${width}`);
        assert.deepStrictEqual(await findViolations(page), [], `${range} in ${scheme} at ${width}`);
      }
      tab.check();
      await tab.close();
    });

for (const scheme of ['light', 'dark'])
  test(`dialogs in ${scheme} are accessible`, async () => {
    const tab = await openPage(browser, server, { scheme });
    const { page } = tab;
    const opened = [['#/topics/mail', 'Push a job'], ['#/topics/mail', 'Pause …'], ['#/topics/mail', 'Remove …'], ['#/topics/mail/jobs/order-1004', 'Reschedule'],
      ['#/topics/mail/jobs/order-1004', 'Edit'], ['#/topics/mail/dead', 'Redrive all 3 …'], ['#/topics/mail/settings', 'Set retries'], ['#/cron', 'Add'], ['#/', 'Keys']];
    for (const [path, text] of opened) {
      await tab.go(path);
      await page.getByRole('button', { name: text, exact: true }).click();
      await dialog(page).waitFor();
      await picture(page, `dialog-${text.replace(/\W+/g, '-')}-${scheme}`);
      assert.deepStrictEqual(await findViolations(page), [], `${text} in ${scheme}`);
      await page.keyboard.press('Escape');
      await dialog(page).waitFor({ state: 'detached' });
    }
    await tab.go('#/topics/mail/jobs');
    await page.getByLabel('Select order-1101').check();
    await picture(page, `selection-${scheme}`);
    assert.deepStrictEqual(await findViolations(page), [], 'a selection');
    tab.check();
    await tab.close();
  });

test('the login is accessible', async () => {
  const closed = await Server.start('--requirepass', 'secret');
  for (const scheme of ['light', 'dark']) {
    const tab = await openPage(browser, closed, { scheme });
    await tab.go('');
    await picture(tab.page, `login-${scheme}`);
    assert.deepStrictEqual(await findViolations(tab.page), []);
    await signIn(tab.page, closed, 'default', 'secret');
    await tab.page.getByRole('heading', { name: 'Topics' }).waitFor();
    await tab.close();
  }
  await closed.end();
});

test('an empty server says what to do next', async () => {
  const fresh = await Server.start();
  const tab = await openPage(browser, fresh);
  for (const [path, text] of [['#/', 'There are no topics yet'], ['#/workers', 'No worker has a name'], ['#/cron', 'No job recurs yet']]) {
    await tab.go(path);
    await tab.page.getByText(text).waitFor();
    await picture(tab.page, `empty-${path.replace(/\W/g, '')}`);
    assert.deepStrictEqual(await findViolations(tab.page), [], path);
  }
  tab.check();
  await tab.close();
  await fresh.end();
});
