// One topic: figures, charts of what was, a forecast of what falls due, its pause, its recurring jobs.
import { h, button, code, facts, link, replace, section, table } from './element.js';
import { can, get, post, remove } from './api.js';
import { bytes, compact, decodeName, duration, encodeName, moment, nameText, number, plural, whole } from './format.js';
import { address, go } from './router.js';
import { chart } from './chart.js';
import { cronTable } from './cron.js';
import { confirmDialog, formDialog } from './dialog.js';
import { atMostEach, listen, whenChanged } from './live.js';
import { complain, showFailure, notify } from './notice.js';
import { pushJob } from './push.js';
import { valueText } from './settings.js';
import { stateAddress, topicBar } from './topicbar.js';
import { ON_DEAD, otherJob } from './waits.js';
import { historyPart, segments } from './history.js';

const TILES = [['ready', 'Ready'], ['delayed', 'Delayed'], ['claimed', 'Claimed'], ['dead', 'Dead'], ['waiting', 'Waiting'], ['done', 'Done']];

function tilesOf(topic, stats) {
  return h('ul', { class: 'tiles' }, TILES.map(([state, text]) => h('li', null, h('a', { class: `tile is-${state}`,
    href: stateAddress(topic, state) },
  h('span', { class: 'tile-count', title: number(stats[state]) }, compact(stats[state])), h('span', { class: 'tile-name' }, text)))));
}

const lines = (stats) => facts([
  ['Oldest ready', stats.ready ? duration(stats['oldest-ready-age']) : 'none is ready'],
  ['Next due', stats['next-due'] ? moment(stats['next-due']) : 'none is delayed'],
  ['Bodies', bytes(stats.bytes)],
  stats.paused ? ['Paused', stats['paused-until'] ? [`${stats.paused}, ends `, moment(stats['paused-until'])] : `${stats.paused}, until it is resumed`] : null,
  stats['rate-left'] === null ? null : ['Rate leaves', stats['rate-left'] > 0 ? `${number(stats['rate-left'])} claims now` : ['no claim until ', moment(stats['rate-next'])]],
  stats.purging === null ? null : ['Purging', `${number(stats.purging)} removed so far`],
], 'is-row');

const totals = (stats) => facts([['Pushed', number(stats['total-pushed'])], ['Claimed', number(stats['total-claimed'])], ['Acknowledged', number(stats['total-acked'])],
  ['Given back', number(stats['total-nacked'])], ['Leases run out', number(stats['total-expired'])], ['TTL over', number(stats['total-lapsed'])], ['Died', number(stats['total-dead'])],
  ['Cancelled', number(stats['total-cancelled'])], ['Deleted', number(stats['total-deleted'])], ['Dropped by limits', number(stats['total-dropped'] + stats['total-dead-removed'])]]);

const WINDOWS = [['minute', 'Last minute'], ['5-minutes', '5 minutes'], ['all', 'Since the start']];
const TIMES = [['wait', 'Wait'], ['run', 'Run'], ['lateness', 'Lateness']];

const timesTable = (stats) => table('How long jobs waited, ran, and were late', [
  { name: 'Time', rowHead: true, cell: ([name, window]) => `${name[1]}, ${window[1].toLowerCase()}` },
  { name: 'Jobs', number: true, cell: ([name, window]) => compact(stats[name[0]][window[0]].count) },
  ...[['p50', 'Half below'], ['p99', '99 % below'], ['max', 'Longest']].map(([key, text]) => ({ name: text, number: true,
    cell: ([name, window]) => stats[name[0]][window[0]].count ? duration(stats[name[0]][window[0]][key]) : '–' })),
], TIMES.flatMap((name) => WINDOWS.slice(0, 2).map((window) => [name, window])), { class: 'cards' });

const BUCKETS = [['1h', '24 hours', 24], ['6h', '7 days', 28], ['1d', '30 days', 30]];

function forecastPart(topic, life) {
  let bucket = '1h';
  const bars = chart({ title: 'Delayed jobs that fall due', bars: true, format: whole, series: [{ name: 'count', label: 'jobs' }], nothing: 'No job is delayed' });
  life.onEnd(bars.end);
  const load = async () => {
    try {
      const count = BUCKETS.find(([key]) => key === bucket)[2];
      const { buckets } = await get(`/v1/topics/${topic}/forecast`, { bucket, count }, life.signal);
      bars.update(buckets.some((one) => one.count) ? buckets.map((one) => ({ time: one.begin, count: one.count })) : []);
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver())
        bars.update([]);
    }
  };
  const choose = segments('bucket', 'How far ahead', BUCKETS, bucket, (key) => { bucket = key; load(); });
  const element = section('What comes', choose, h('div', { class: 'charts is-one' }, bars.element));
  element.classList.add('has-choice');
  return { element, load };
}

async function pause(topic, done) {
  const isDone = await formDialog({ title: `Pause ${decodeName(topic)}`, action: 'Pause', text: 'Claimed jobs go on. Delayed ones fall due.', fields: [
    { name: 'what', label: 'What', value: 'OUT', choices: [['OUT', 'Claims: workers get nothing'], ['IN', 'Pushes: they are refused'], ['ALL', 'Both']] },
    { name: 'for', label: 'For', hint: 'As 10m or 2h. Empty: until it is resumed.' }],
  run: ({ what, for: time }) => post(`/v1/topics/${topic}/pause`, { what, ...time && { for: time } }) });
  if (isDone) {
    notify('Paused.', { text: 'Resume', run: async () => { await post(`/v1/topics/${topic}/resume`); done(); } });
    done();
  }
}

async function drop(topic, stats) {
  const count = TILES.reduce((sum, [state]) => sum + stats[state], 0);
  const isSure = await confirmDialog({ title: `Remove the topic ${decodeName(topic)}`, danger: true, action: `Remove it with ${plural(count, 'job')}`,
    text: `Its ${plural(count, 'job')}, totals, events and own settings are gone. Acks of claimed jobs count nothing. This cannot be taken back.`,
    run: () => remove(`/v1/topics/${topic}`) });
  if (isSure) {
    notify('The topic is removed.');
    go('#/');
  }
}

function buttonsOf(topic, stats, load) {
  const resume = async () => {
    await post(`/v1/topics/${topic}/resume`);
    notify('Resumed.');
    load();
  };
  return [
    can('q.drop') ? button('Remove …', () => drop(topic, stats).catch(complain), 'danger-text') : null,
    stats.paused && can('q.resume') ? button('Resume', () => resume().catch(complain)) : null,
    can('q.pause') ? button(stats.paused ? 'Change pause …' : 'Pause …', () => pause(topic, load).catch(complain)) : null,
    can('q.push') ? h('button', { type: 'button', class: 'strong', 'data-key': 'n', onclick: () => pushJob(topic, load) }, 'Push a job') : null];
}

// The limits that hold, of the settings.
function limitsOf(settings) {
  const names = ['concurrency', 'rate', 'group-mode', 'group-concurrency', 'group-rate', 'max-length', 'max-bytes', 'dead-topic'];
  const set = names.filter((name) => settings[name]?.value !== null && settings[name]?.value !== undefined && settings[name].from !== 'server');
  return set.length ? facts(set.map((name) => [name, valueText(name, settings[name].value)])) : h('p', { class: 'dim' }, 'None: any number of jobs is claimed at a time.');
}

const SHOWN = 5; // jobs that wait

// The first jobs that wait for others, and for which.
async function waitingPart(topic, stats, life) {
  const { jobs } = await get(`/v1/topics/${topic}/peek`, { state: 'waiting', count: SHOWN }, life.signal);
  const whole = (await Promise.all(jobs.map(({ id }) => get(`/v1/topics/${topic}/jobs/${encodeName(id)}`, null, life.signal).catch(() => null))))
    .filter((job) => job?.state === 'waiting');
  if (!whole.length)
    return null;
  return section('Jobs that wait for others', table('Jobs that wait for others', [
    { name: 'Job', rowHead: true, wide: true, cell: (job) => link(address(['topics', topic, 'jobs', encodeName(job.id)]), code(nameText(job.id))) },
    { name: 'Waits for', wide: true, cell: (job) => [job.after.slice(0, SHOWN).map((other) => otherJob(topic, other)), job.awaits > SHOWN ? ` and ${number(job.awaits - SHOWN)} more` : null] },
    { name: 'When one dies', cell: (job) => ON_DEAD[job['on-dead']] },
    { name: 'Since', number: true, cell: (job) => moment(job.due) },
  ], whole, { class: 'cards' }), h('p', null, link(stateAddress(topic, 'waiting'), plural(stats.waiting, 'waiting job'))));
}

async function sideParts(topic, stats, life) {
  const parts = [];
  if (stats.waiting > 0 && can('q.peek', 'q.get'))
    parts.push(await waitingPart(topic, stats, life));
  if (can('q.config|get'))
    parts.push(section('Limits and groups', limitsOf(await get(`/v1/topics/${topic}/settings`, null, life.signal)),
      h('p', null, link(address(['topics', topic, 'settings']), 'All settings'))));
  if (can('q.cron|list')) {
    const list = await cronTable(life, (entry) => encodeName(entry.topic) === topic).catch(() => null);
    if (list)
      parts.push(section('Recurring jobs', list));
  }
  return parts;
}

export async function showTopic(main, { topic }, query, life) {
  const bar = topicBar(topic, '');
  const figures = h('div', { class: 'stack', 'aria-busy': 'true' });
  const side = h('div', { class: 'stack is-wide' });
  const history = historyPart(`/v1/topics/${topic}/history`, life);
  const forecast = forecastPart(topic, life);
  const times = h('div');
  let shown = '';
  let known = null;
  const load = async () => {
    try {
      const stats = await get(`/v1/topics/${topic}`, null, life.signal);
      if (life.isOver())
        return;
      const waited = known?.waiting;
      known = stats;
      figures.removeAttribute('aria-busy');
      if (waited !== undefined && waited !== stats.waiting)
        loadSide();
      bar.showPause(stats.paused);
      replaceKeeping(bar.actions, buttonsOf(topic, stats, load));
      const text = JSON.stringify(stats);
      if (text !== shown) {
        replaceKeeping(figures, [tilesOf(topic, stats), lines(stats)]);
        replace(times, h('div', { class: 'columns' }, section('Times', timesTable(stats)), section('Since the topic exists', totals(stats))));
      }
      shown = text;
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver()) {
        shown = '';
        showFailure(figures, error, load);
      }
    }
  };
  main.append(bar.element, figures, history.element, can('q.forecast') ? forecast.element : '', times, side);
  await Promise.all([load(), history.load(), can('q.forecast') ? forecast.load() : null]);
  let isSide = false;
  const loadSide = async () => {
    if (!known || isSide || life.isOver())
      return;
    isSide = true;
    replaceKeeping(side, await sideParts(topic, known, life).catch(() => []));
    isSide = false;
  };
  await loadSide();
  listen({ topic: decodeName(topic) }, { again: load, topic: whenChanged(atMostEach(1000, () => Promise.all([load(), history.load()]))) }, life);
}

// Puts new elements in place; the one with the same text keeps the focus.
export function replaceKeeping(place, children) {
  const text = place.contains(document.activeElement) ? document.activeElement.textContent : null;
  replace(place, children);
  if (text !== null)
    [...place.querySelectorAll('button, a')].find((one) => one.textContent === text)?.focus({ preventScroll: true });
}
