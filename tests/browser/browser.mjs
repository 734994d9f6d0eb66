// Debian's Chromium, without a window, and what each page must never do.
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const DEADLINE = Number(process.env.DEADLINE ?? 60000);

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });

// A page in a session of its own. check() fails when it had an error, broke its policy or asked another host.
export async function openPage(browser, server, options = {}) {
  const context = await browser.newContext({ viewport: { width: options.width ?? 1280, height: options.height ?? 800 }, colorScheme: options.scheme ?? 'light',
    reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'Europe/Berlin', bypassCSP: false });
  const page = await context.newPage();
  const wrong = [];
  page.setDefaultTimeout(DEADLINE);
  page.on('pageerror', (error) => wrong.push(error.stack));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource|ERR_(CONNECTION|EMPTY|INCOMPLETE)/.test(message.text()))
      wrong.push(message.text());
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== server.url)
      wrong.push(`asks ${request.url()}`);
  });
  if (globalThis.prepare)
    await globalThis.prepare(page, server);
  return { page, context, go: (path) => showView(page, server, path), check: () => assert.deepStrictEqual(wrong, []), close: () => context.close() };
}

// Goes to a view and waits until it has been read.
export async function showView(page, server, path) {
  await page.goto(`${server.url}/ui/${path}`);
  await page.locator('main h1').waitFor();
  await page.waitForFunction(() => !document.querySelector('[aria-busy]'));
}

export async function signIn(page, server, user, password) {
  await page.goto(`${server.url}/ui/`);
  await page.getByLabel('User').fill(user);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

// What axe-core finds wrong. Its code is given to the page as a tool of the browser does, past the policy of the page.
export async function findViolations(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  await session.detach();
  const found = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  return found.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html} (${failureSummary})`).join('; ')}`);
}

export const widthOf = (page) => page.evaluate(() => ({ content: document.documentElement.scrollWidth, window: innerWidth }));
export const notice = (page) => page.locator('#notices .notice');
export const dialog = (page) => page.getByRole('dialog');
