// Each action of the page, against the real server: what it asks before, what it does, and what takes it back.
import assert from 'node:assert';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { dialog, launch, notice, openPage } from './browser.mjs';
import { Server, until } from './server.mjs';

let server;
let browser;
let tab;
let page;

before(async () => {
  server = await Server.start();
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

const button = (name) => page.getByRole('button', { name, exact: true });
const jobOf = (topic, id) => server.api('GET', `/v1/topics/${topic}/jobs/${id}`).catch(() => null);
const stateOf = async (topic, id) => (await jobOf(topic, id))?.state ?? null;
const isIn = (topic, id, state) => until(`${id} is ${state}`, async () => await stateOf(topic, id) === state);
const answer = (name) => dialog(page).getByRole('button', { name }).click();
const undo = () => notice(page).getByRole('button', { name: 'Undo' }).click();
const openJob = (topic, id) => tab.go(`#/topics/${topic}/jobs/${id}`);

async function kill(topic, id, error) {
  await server.push(topic, 'x', { id });
  const { jobs } = await server.api('POST', `/v1/topics/${topic}/claim`, {});
  await server.api('POST', `/v1/topics/${topic}/jobs/${encodeURIComponent(id)}/nack`, { token: jobs[0].token, error, outcome: 'FATAL' });
}

test('pushes a job with its options, and shows the new topic by itself', async () => {
  await tab.go('#/');
  await button('Push a job').click();
  await dialog(page).getByLabel('Topic').fill('push');
  await dialog(page).getByLabel('Body').fill('{"a": [1, 2]}');
  await dialog(page).getByLabel('Id').fill('p/1 ä');
  await dialog(page).getByLabel('Delay').fill('1h');
  await dialog(page).getByLabel('Priority').fill('7');
  await dialog(page).getByLabel('Group').fill('g');
  await answer('Push');
  await page.getByRole('heading', { name: 'push' }).waitFor();
  const job = await jobOf('push', encodeURIComponent('p/1 ä'));
  assert.deepStrictEqual([job.body, job.state, job.priority, job.group], ['{"a": [1, 2]}', 'delayed', 7, 'g']);
  await notice(page).getByRole('link').click();
  await page.getByRole('heading', { name: 'p/1 ä' }).waitFor();
});

test('says in the dialog why a push is refused, and keeps what was typed', async () => {
  await server.push('refuse', 'x', { id: 'a', delay: '1h' });
  await tab.go('#/topics/refuse/jobs');
  await button('Push a job').click();
  await dialog(page).getByLabel('Id').fill('a');
  await answer('Push');
  await dialog(page).getByText('The topic has a job with this id').waitFor();
  assert.strictEqual(await dialog(page).getByLabel('Id').inputValue(), 'a');
  await dialog(page).getByLabel('Id').fill('b');
  await dialog(page).getByLabel('Delay').fill('soon');
  await answer('Push');
  await dialog(page).getByRole('alert').filter({ hasText: /\w/ }).waitFor();
  await answer('Cancel');
  await dialog(page).waitFor({ state: 'detached' });
});

test('runs a delayed job now, and takes that back', async () => {
  await server.push('run', 'x', { id: 'a', delay: '1h' });
  await openJob('run', 'a');
  const { due } = await jobOf('run', 'a');
  await button('Run now').click();
  await isIn('run', 'a', 'ready');
  await undo();
  await isIn('run', 'a', 'delayed');
  assert.strictEqual((await jobOf('run', 'a')).due, due);
});

test('reschedules a job by a delay and by a date, and takes that back', async () => {
  await server.push('when', 'x', { id: 'a', delay: '1h' });
  const { due } = await jobOf('when', 'a');
  await openJob('when', 'a');
  await button('Reschedule').click();
  await answer('Reschedule 1 job');
  await dialog(page).getByText('Say when').waitFor();
  await dialog(page).getByLabel('Due in').fill('3d');
  await answer('Reschedule 1 job');
  await until('it is due later', async () => (await jobOf('when', 'a')).due > due + 80000000);
  await undo();
  await until('it is due as before', async () => (await jobOf('when', 'a')).due === due);
  await button('Reschedule').click();
  await dialog(page).getByLabel('or due at').fill('2099-07-01T12:00');
  await answer('Reschedule 1 job');
  await until('it is due then, in the zone of the viewer', async () => (await jobOf('when', 'a')).due === Date.parse('2099-07-01T10:00:00Z'));
});

test('edits a job', async () => {
  await server.push('edit', 'old', { id: 'a', delay: '1h' });
  await openJob('edit', 'a');
  await button('Edit').click();
  await dialog(page).getByLabel('Body').fill('new');
  await dialog(page).getByLabel('Priority').fill('300');
  await answer('Save');
  await dialog(page).getByRole('alert').filter({ hasText: /\w/ }).waitFor();
  await dialog(page).getByLabel('Priority').fill('3');
  await dialog(page).getByLabel('Lease').fill('5m');
  await dialog(page).getByLabel('Backoff').fill('FIXED 10s');
  await answer('Save');
  await until('it is changed', async () => (await jobOf('edit', 'a')).body === 'new');
  const job = await jobOf('edit', 'a');
  assert.deepStrictEqual([job.priority, job.lease, job.backoff], [3, 300000, 10000]);
  await page.getByText('new', { exact: true }).waitFor();
});

test('cancels a job that waits, and pushes it again as it was', async () => {
  await server.push('cancel', '{"x": 1}', { id: 'a', delay: '1h', priority: 3, group: 'g', lease: '7m' });
  const before = await jobOf('cancel', 'a');
  await openJob('cancel', 'a');
  await button('Cancel').click();
  await answer('Cancel 1 job');
  await isIn('cancel', 'a', null);
  await undo();
  await isIn('cancel', 'a', 'delayed');
  const back = await jobOf('cancel', 'a');
  for (const name of ['body', 'due', 'priority', 'group', 'lease', 'retries'])
    assert.deepStrictEqual(back[name], before[name], name);
});

test('tells the worker of a claimed job that it is cancelled', async () => {
  await server.push('cancel2', 'x', { id: 'a' });
  await server.api('POST', '/v1/topics/cancel2/claim', { worker: 'host7' });
  await openJob('cancel2', 'a');
  await button('Cancel').click();
  await answer('Cancel 1 job');
  await page.getByText('It was cancelled').waitFor();
});

test('moves a job to another topic and back', async () => {
  await server.push('move', 'x', { id: 'a', delay: '1h' });
  await openJob('move', 'a');
  await button('Move').click();
  await dialog(page).getByLabel('To the topic').fill('moved here');
  await answer('Move 1 job');
  await isIn('moved%20here', 'a', 'delayed');
  await page.getByText('There is no such job').waitFor();
  await undo();
  await isIn('move', 'a', 'delayed');
});

test('deletes a job after a question that Escape answers with no', async () => {
  await server.push('delete', 'x', { id: 'a' });
  await openJob('delete', 'a');
  await button('Delete').click();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  assert.strictEqual(await stateOf('delete', 'a'), 'ready');
  await button('Delete').click();
  await answer('Delete 1 job');
  await isIn('delete', 'a', null);
});

test('redrives a dead job, whatever signs its id has', async () => {
  await kill('redrive', 'a*[1]?', 'boom');
  await server.push('redrive', 'x', { id: 'other', delay: '1h' });
  await openJob('redrive', encodeURIComponent('a*[1]?'));
  await page.getByText('boom').first().waitFor();
  await button('Redrive').click();
  await answer('Redrive');
  await isIn('redrive', encodeURIComponent('a*[1]?'), 'ready');
});

test('redrives and purges dead jobs by a filter, with a count before', async () => {
  for (const [id, error] of [['a1', 'timeout one'], ['a2', 'timeout two'], ['b1', 'bad body'], ['c1', 'left alone']])
    await kill('bury', id, error);
  await tab.go('#/topics/bury/dead');
  await page.getByLabel('Error, a glob').fill('timeout*');
  await button('Find').click();
  await button('Redrive all 2 …').click();
  await dialog(page).getByRole('heading', { name: 'Redrive 2 jobs' }).waitFor();
  await dialog(page).getByLabel('To the topic').fill('second');
  await answer('Redrive 2 jobs');
  await isIn('second', 'a1', 'ready');
  await page.getByLabel('Error, a glob').fill('bad*');
  await button('Find').click();
  await button('Purge all 1 …').click();
  await answer('Purge 1 job');
  await isIn('bury', 'b1', null);
  assert.strictEqual(await stateOf('bury', 'c1'), 'dead');
});

test('redrives and deletes dead jobs that are selected', async () => {
  for (const id of ['a1', 'a2', 'a3'])
    await kill('bury2', id, 'boom');
  await tab.go('#/topics/bury2/dead');
  await page.getByLabel('Select a1').check();
  await page.getByLabel('Select a2').check();
  await page.locator('.selection').getByRole('button', { name: 'Redrive' }).click();
  await answer('Redrive 2 jobs');
  await isIn('bury2', 'a2', 'ready');
  await page.getByLabel('Select a3').check();
  await page.locator('.selection').getByRole('button', { name: 'Delete' }).click();
  await answer('Delete 1 job');
  await isIn('bury2', 'a3', null);
});

test('finds jobs by state, glob, id and due range', async () => {
  for (let i = 0; i < 12; i++)
    await server.push('find', 'x', { id: `job-${i}`, ...i < 6 ? { at: Date.parse('2090-01-01T00:00:00Z') + i * 86400000 } : {} });
  await tab.go('#/topics/find/jobs');
  const rows = (count) => page.waitForFunction((wanted) => document.querySelectorAll('main tbody tr').length === wanted, count);
  await rows(12);
  await page.getByRole('button', { name: /^Ready/ }).click();
  await rows(6);
  await page.getByRole('button', { name: /^All/ }).click();
  await rows(12);
  await page.getByLabel('Id or glob').fill('job-1*');
  await button('Find').click();
  await rows(3);
  await page.getByLabel('Id or glob').fill('job-7');
  await page.getByLabel('Id or glob').press('Enter');
  await rows(1);
  await button('Reset').click();
  await page.getByLabel('Due from').fill('2090-01-03T00:00');
  await page.getByLabel('Due to').fill('2090-01-05T12:00');
  await button('Find').click();
  await rows(3);
  await page.reload();
  await rows(3);
});

test('reschedules, moves, cancels and deletes jobs that are selected, each with undo where there can be one', async () => {
  for (let i = 0; i < 5; i++)
    await server.push('bulk', `body ${i}`, { id: `job-${i}`, delay: '1h' });
  await tab.go('#/topics/bulk/jobs');
  const choose = async (...ids) => {
    for (const id of ids)
      await page.getByLabel(`Select ${id}`).check();
  };
  const chosen = (name) => page.locator('.selection').getByRole('button', { name, exact: true }).click();
  await choose('job-0', 'job-1');
  await chosen('Run now');
  await dialog(page).getByText('Run now 2 jobs of bulk').waitFor();
  await answer('Run now 2 jobs');
  await isIn('bulk', 'job-1', 'ready');
  await undo();
  await isIn('bulk', 'job-1', 'delayed');
  await choose('job-0', 'job-1', 'job-2');
  await chosen('Move');
  await dialog(page).getByLabel('To the topic').fill('bulk2');
  await answer('Move 3 jobs');
  await isIn('bulk2', 'job-2', 'delayed');
  await undo();
  await isIn('bulk', 'job-2', 'delayed');
  await page.getByLabel('Select job-2').waitFor();
  await page.getByLabel('Select all rows that are shown').check();
  await chosen('Cancel');
  await answer('Cancel 5 jobs');
  await isIn('bulk', 'job-4', null);
  await undo();
  await isIn('bulk', 'job-4', 'delayed');
  await isIn('bulk', 'job-0', 'delayed');
  assert.strictEqual((await jobOf('bulk', 'job-3')).body, 'body 3');
  await page.getByLabel('Select job-4').waitFor();
  await choose('job-3', 'job-4');
  await chosen('Delete');
  await answer('Delete 2 jobs');
  await isIn('bulk', 'job-4', null);
  assert.strictEqual(await stateOf('bulk', 'job-0'), 'delayed');
});

test('takes all that match a filter, beyond those that are shown', async () => {
  await server.api('POST', '/v1/topics/many/push-many', { jobs: Array.from({ length: 230 }, (_, i) => ({ body: 'x', id: `${i < 200 ? 'a' : 'b'}-${i}` })), delay: '1h' });
  await tab.go('#/topics/many/jobs?match=a-*');
  await button('Select all that match').click();
  await page.getByText('200 selected').waitFor();
  await page.locator('.selection').getByRole('button', { name: 'Delete' }).click();
  await answer('Delete 200 jobs');
  await until('they are gone', async () => (await server.api('GET', '/v1/topics/many')).delayed === 30);
});

test('purges by state, with a count before', async () => {
  for (let i = 0; i < 4; i++)
    await server.push('purge', 'x', { id: `a-${i}`, ...i < 3 ? { delay: '1h' } : {} });
  await tab.go('#/topics/purge/jobs?state=delayed');
  await button('Purge …').click();
  await answer('Purge 3 jobs');
  await until('they are gone', async () => (await server.api('GET', '/v1/topics/purge')).delayed === 0);
  assert.strictEqual(await stateOf('purge', 'a-3'), 'ready');
});

test('pauses and resumes a topic', async () => {
  await server.push('pause', 'x', { id: 'a' });
  await tab.go('#/topics/pause');
  await button('Pause …').click();
  await dialog(page).getByLabel('What').selectOption('ALL');
  await dialog(page).getByLabel('For').fill('1h');
  await answer('Pause');
  await until('it is paused', async () => (await server.api('GET', '/v1/topics/pause')).paused === 'all');
  await openJob('pause', 'a');
  await page.getByText(/paused/).first().waitFor();
  await tab.go('#/topics/pause');
  await page.getByRole('main').getByRole('button', { name: 'Resume', exact: true }).click(); // a notice that is still there has one too
  await until('it goes on', async () => (await server.api('GET', '/v1/topics/pause')).paused === null);
});

test('sets and resets settings, says where they come from, and takes them back', async () => {
  await server.push('set', 'x', { id: 'a' });
  await server.command('Q.CONFIG', 'SET', 's?t', 'retries', '4');
  const setting = async (name) => (await server.api('GET', `/v1/topics/set/settings?name=${name}`))[name];
  await tab.go('#/topics/set/settings');
  await page.getByRole('row', { name: /retries/ }).getByText('pattern s?t').waitFor();
  await button('Set lease').click();
  await dialog(page).getByLabel('lease').fill('never');
  await answer('Set');
  await dialog(page).getByRole('alert').filter({ hasText: 'lease' }).waitFor();
  await dialog(page).getByLabel('lease').fill('5m');
  await answer('Set');
  await until('it is set', async () => (await setting('lease')).value === '300000');
  await page.getByRole('row', { name: /^lease/ }).getByText('this topic').waitFor();
  await button('Reset lease').click();
  await until('it is reset', async () => (await setting('lease')).from === 'server');
  await undo();
  await until('it is set again', async () => (await setting('lease')).value === '300000');
  await button('Set overflow').click();
  await dialog(page).getByLabel('overflow').selectOption('drop-oldest');
  await answer('Set');
  await until('it is set', async () => (await setting('overflow')).value === 'drop-oldest');
});

test('removes a topic after it said what is in it', async () => {
  await server.push('drop', 'x', { id: 'a' });
  await tab.go('#/topics/drop');
  await button('Remove …').click();
  await answer('Remove it with 1 job');
  await page.getByRole('heading', { name: 'Topics' }).waitFor();
  assert.strictEqual(await stateOf('drop', 'a'), null);
});

test('adds, pauses, runs and deletes a recurring job', async () => {
  await tab.go('#/cron');
  await button('Add').click();
  await dialog(page).getByLabel('Name').fill('report');
  await dialog(page).getByLabel('Topic').fill('reports');
  await dialog(page).getByLabel('Body').fill('weekly');
  await dialog(page).getByLabel('Spec').fill('0 6 30 2 *');
  await answer('Add');
  await dialog(page).getByRole('alert').filter({ hasText: 'no such date' }).waitFor();
  await dialog(page).getByLabel('Spec').fill('0 6 * * mon');
  await dialog(page).getByLabel('Time zone').fill('Europe/Berlin');
  await answer('Add');
  const entry = () => server.api('GET', '/v1/cron/report').catch(() => null);
  await until('it is there', async () => (await entry())?.tz === 'Europe/Berlin');
  await button('Next report').click();
  await page.waitForFunction(() => document.querySelectorAll('dialog li').length === 10);
  await answer('Close');
  await button('Pause report').click();
  await until('it is paused', async () => (await entry()).paused === 1);
  await button('Resume report').click();
  await until('it goes on', async () => (await entry()).paused === 0);
  await button('Run now report').click();
  await until('it has pushed a job', async () => (await server.api('GET', '/v1/topics/reports')).ready === 1);
  await tab.go('#/topics/reports');
  await page.getByRole('heading', { name: 'Recurring jobs' }).waitFor();
  await tab.go('#/cron');
  await button('Delete report').click();
  await answer('Delete');
  await until('it is gone', async () => await entry() === null);
});

test('ends the leases of a worker that is lost', async () => {
  await server.push('lost', 'x', { id: 'a' });
  await server.api('POST', '/v1/topics/lost/claim', { worker: 'host9', lease: '1h' });
  await tab.go('#/topics/lost/workers');
  await button('Release host9').click();
  await answer('End its leases');
  await isIn('lost', 'a', 'ready');
});

test('shows events as they happen, and those that a topic has kept', async () => {
  await server.push('tell', 'x', { id: 'first' });
  await server.api('PATCH', '/v1/topics/tell/settings', { events: '100' });
  await server.push('tell', 'x', { id: 'kept' });
  await tab.go('#/topics/tell/events');
  await page.getByRole('table', { name: /^Kept/ }).getByRole('link', { name: 'kept' }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await server.push('tell', 'x', { id: 'now' });
  await page.getByRole('table', { name: /^Events as/ }).getByRole('link', { name: 'now' }).waitFor();
});

test('sorts, filters and pages the topics', async () => {
  for (let i = 0; i < 120; i++)
    await server.push(`zz-${String(i).padStart(3, '0')}`, 'x', { id: 'a' });
  await tab.go('#/?match=zz-*');
  const first = (name) => page.waitForFunction((text) => document.querySelector('main tbody a')?.textContent === text, name);
  await first('zz-000');
  await page.getByRole('button', { name: 'Topic' }).click();
  await first('zz-119');
  await page.getByRole('button', { name: 'Next', exact: true }).click();
  await first('zz-069');
  await page.getByText('51 – 100 of 120').waitFor();
  await page.getByRole('searchbox').fill('zz-11');
  await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length === 10);
});

test('pushes a job that waits for others, shows what for, and lets it run without them', async () => {
  await server.push('first', 'x', { id: 'a:b', delay: '1h' });
  await tab.go('#/topics/after/jobs');
  await button('Push a job').click();
  await dialog(page).getByLabel('Id').fill('w');
  await dialog(page).getByLabel('After').fill(' first:a:b  none ');
  await answer('Push');
  await isIn('after', 'w', 'waiting');
  await tab.go('#/?match=after');
  await page.getByRole('row', { name: /^after/ }).locator('.count.is-waiting').click();
  await page.locator('main').getByRole('link', { name: 'w', exact: true }).click();
  await page.locator('.why').getByText('waits for 1 other job').waitFor();
  await page.locator('.others').getByText('delayed').waitFor();
  await page.getByText('it dies, too').waitFor();
  await tab.go('#/topics/after');
  await page.getByRole('link', { name: '1 Waiting', exact: true }).waitFor();
  await page.getByRole('link', { name: 'first:a:b' }).click();
  await page.getByRole('heading', { name: 'a:b' }).waitFor();
  await openJob('after', 'w');
  await button('Run now').click();
  await isIn('after', 'w', 'ready');
});

test('cancels a job that waits for others, and takes that back as it was', async () => {
  await server.push('back', 'x', { id: 'a', delay: '1h' });
  await server.push('back', 'y', { id: 'w', priority: 3, retries: 7, backoff: 'STEPS 2m 10m', group: 'g', weight: 4, 'on-dead': 'WAIT', after: ['a'] });
  const before = await jobOf('back', 'w');
  await openJob('back', 'w');
  await button('Cancel').click();
  await answer('Cancel 1 job');
  await isIn('back', 'w', null);
  await undo();
  await isIn('back', 'w', 'waiting');
  const same = (job) => Object.fromEntries(Object.entries(job).filter(([name]) => !['due', 'pushed', 'token'].includes(name)));
  assert.deepStrictEqual(same(await jobOf('back', 'w')), same(before));
});

test('a job that is taken back follows its topic, and keeps what is its own', async () => {
  await server.push('follows', 'x', { id: 'a', delay: '1h', crashes: 9 });
  await openJob('follows', 'a');
  await button('Cancel').click();
  await answer('Cancel 1 job');
  await isIn('follows', 'a', null);
  await undo();
  await isIn('follows', 'a', 'delayed');
  await server.api('PATCH', '/v1/topics/follows/settings', { lease: '2m', retries: 5, crashes: 1, backoff: 'FIXED 7s' });
  const job = await jobOf('follows', 'a');
  assert.deepStrictEqual([job.lease, job.retries, job.crashes, job.backoff, job['backoff-max']], [120000, 5, 9, 7000, 7000]);
});

test('shows the last of the events that a topic keeps', async () => {
  await server.api('PATCH', '/v1/topics/kept/settings', { events: '10000' });
  for (let part = 0; part < 3; part++)
    await server.api('POST', '/v1/topics/kept/push-many', { jobs: Array.from({ length: 900 }, (_, i) => ({ body: 'x', id: `job-${part * 900 + i}` })) });
  await tab.go('#/topics/kept/events');
  const kept = page.getByRole('table', { name: 'Kept events of kept' });
  await kept.getByRole('link', { name: 'job-2699', exact: true }).waitFor();
  assert.strictEqual(await kept.locator('tbody tr').count(), 200);
  await kept.getByRole('link', { name: 'job-2500', exact: true }).waitFor();
});

test('does not offer to take back what a push cannot make', async () => {
  await server.push('tried', 'x', { id: 'a' });
  const { jobs } = await server.api('POST', '/v1/topics/tried/claim', {});
  await server.api('POST', '/v1/topics/tried/jobs/a/nack', { token: jobs[0].token, error: 'no', delay: '1h' });
  await openJob('tried', 'a');
  await button('Cancel').click();
  await dialog(page).getByText('What has no attempts yet can be brought back').waitFor();
  await answer('Cancel 1 job');
  await notice(page).getByText('1 job cancelled').waitFor();
  assert.strictEqual(await notice(page).getByRole('button', { name: 'Undo' }).count(), 0);
});

test('narrows the topics to what they are, and sorts them by what is due next', async () => {
  await server.push('only-paused', 'x', { delay: '3d' });
  await server.push('only-soon', 'x', { delay: '1d' });
  await server.push('only-never', 'x');
  await server.api('POST', '/v1/topics/only-paused/pause', { what: 'ALL' });
  const names = () => page.locator('tbody th a').allTextContents();
  await tab.go('#/?match=only-*');
  await button('Next due').click();
  await until('they are sorted', async () => String(await names()) === 'only-soon,only-paused,only-never');
  await button('Next due').click();
  await until('they are sorted the other way', async () => String(await names()) === 'only-paused,only-soon,only-never');
  await page.getByLabel('Which topics').selectOption({ label: 'Paused' });
  await until('only paused ones are there', async () => String(await names()) === 'only-paused');
  await page.reload();
  await until('a reload keeps that', async () => String(await names()) === 'only-paused');
  await page.getByLabel('Which topics').selectOption({ label: 'With dead jobs' });
  await page.getByText('No topic is like that').waitFor();
});

test('shows the events of all topics as they happen', async () => {
  await tab.go('#/');
  await page.keyboard.press('g');
  await page.keyboard.press('e');
  await page.getByRole('heading', { name: 'Events', exact: true }).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await until('events come', async () => {
    await server.push('happens:x', 'x', { delay: '1h' });
    return await page.getByRole('link', { name: 'happens:x' }).count() > 0;
  });
  await server.push('happens:y', 'x', { id: 'the one' });
  await page.getByRole('link', { name: 'the one' }).click();
  await page.getByRole('heading', { name: 'the one' }).waitFor();
});
