// Who may do what: a login, users with few rights, and the end of a session.
import assert from 'node:assert';
import { after, before, test } from 'node:test';
import { launch, notice, openPage, signIn } from './browser.mjs';
import { Server } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await Server.start();
  for (const id of ['a', 'b'])
    await server.push('mail', 'x', { id, delay: '1h' });
  await server.push('mail', 'x', { id: 'dead' });
  const { jobs } = await server.api('POST', '/v1/topics/mail/claim', {});
  await server.api('POST', '/v1/topics/mail/jobs/dead/nack', { token: jobs[0].token, outcome: 'FATAL' });
  await server.push('other', 'x', { id: 'a' });
  await server.command('ACL', 'SETUSER', 'reader', 'on', '>look', '%R~*', '&*', '-@all', '+@read', '+info', '+auth', '+hello');
  await server.command('ACL', 'SETUSER', 'default', 'on', '>secret');
  browser = await launch();
});

after(async () => {
  await browser.close();
  await server.end();
});

// What may stand on a page that changes nothing.
const HARMLESS = /^(Keys|Sign out|Find|Reset|Look again.*|Hold|Next|Previous|Show more|Close|All|(Ready|Delayed|Claimed|Dead|Done|Waiting) ?\d*|(Topic|In|Out|Oldest ready|Next due)[↑↓]?)$/;

test('a user who may only read sees no button that changes something', async () => {
  const tab = await openPage(browser, server);
  await signIn(tab.page, server, 'reader', 'look');
  await tab.page.getByRole('heading', { name: 'Topics' }).waitFor();
  await tab.page.getByText('read only').waitFor();
  for (const path of ['#/', '#/topics/mail', '#/topics/mail/jobs', '#/topics/mail/jobs/a', '#/topics/mail/jobs/dead', '#/topics/mail/dead', '#/topics/mail/settings', '#/topics/mail/workers', '#/server']) {
    await tab.go(path);
    const texts = (await tab.page.locator('button:visible').allTextContents()).map((text) => text.trim());
    assert.deepStrictEqual(texts.filter((text) => !HARMLESS.test(text)), [], path);
    assert.strictEqual(await tab.page.locator('main input[type=checkbox]').count(), 0, path);
  }
  tab.check();
  await tab.close();
});

test('a wrong password is said, and the right one leads to the view that was asked for', async () => {
  const tab = await openPage(browser, server);
  const { page } = tab;
  await page.goto(`${server.url}/ui/#/topics/mail/jobs`);
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The name or the password is wrong').waitFor();
  await page.getByLabel('Password').fill('secret');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'mail' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  tab.check();
  await tab.close();
});

test('the cookie is not for scripts, nor for other sites', async () => {
  const tab = await openPage(browser, server);
  await signIn(tab.page, server, 'default', 'secret');
  await tab.page.getByRole('heading', { name: 'Topics' }).waitFor();
  const [cookie] = await tab.context.cookies();
  assert.deepStrictEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
  assert.strictEqual(await tab.page.evaluate(() => document.cookie), '');
  await tab.close();
});

test('a session that is over leads to the login, and back to where one was', async () => {
  const tab = await openPage(browser, server);
  const { page } = tab;
  await signIn(page, server, 'default', 'secret');
  await tab.go('#/topics/mail/jobs/a');
  await tab.context.clearCookies();
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByLabel('Password').fill('secret');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Run now' }).click();
  await notice(page).getByText('1 job due now').waitFor();
  await tab.close();
});
