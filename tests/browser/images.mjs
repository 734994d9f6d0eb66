// The pictures of the documents, in docs/images: IMAGES=yes tests/browser/run
import { mkdirSync } from 'node:fs';
import { test } from 'node:test';
import { launch, openPage } from './browser.mjs';
import { fillShop } from './jobs.mjs';
import { Server } from './server.mjs';

test('pictures for the documents', async () => {
  const server = await Server.start();
  await fillShop(server);
  const browser = await launch();
  mkdirSync('docs/images', { recursive: true });
  for (const [name, path, scheme, height] of [['topics', '#/', 'light', 520], ['job', '#/topics/mail/jobs/order-1001', 'dark', 720]]) {
    const tab = await openPage(browser, server, { scheme, height });
    await tab.go(path);
    await tab.page.getByText('Live', { exact: true }).waitFor();
    await tab.page.screenshot({ path: `docs/images/${name}.png` });
    await tab.close();
  }
  await browser.close();
  await server.end();
});
