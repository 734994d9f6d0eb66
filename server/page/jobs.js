// The jobs of a topic: by state, due range, group and id; many of them at once.
import { h, button, code, empty, link, replace, say, stateTag, table } from './element.js';
import { can, get, post, refusal } from './api.js';
import { compact, decodeName, encodeName, fromField, moment, nameText, number, plural, toField } from './format.js';
import { address, setQuery } from './router.js';
import { ACTIONS, act } from './actions.js';
import { newSelection, selectionBar, showBar } from './selection.js';
import { focusIn } from './overview.js';
import { confirmDialog, progressDialog } from './dialog.js';
import { atMostEach, listen, whenChanged } from './live.js';
import { complain, showFailure, notify } from './notice.js';
import { pushJob } from './push.js';
import { topicBar } from './topicbar.js';

const STATES = ['', 'ready', 'delayed', 'claimed', 'waiting', 'dead', 'done'];
const PART = 50;
const MATCH_MAX = 100000; // jobs that one bulk takes

const ORDER = { ready: 'in the order in which they will be claimed', delayed: 'those that are due first before the others', claimed: 'those whose lease ends first before the others',
  dead: 'those that died first before the others', done: 'those that are removed first before the others', waiting: 'those that were pushed first before the others' };

const isGlob = (text) => /[*?[\\]/.test(text);

function readFilter(query) {
  return { state: STATES.includes(query.get('state')) ? query.get('state') : '', match: query.get('match') ?? '', group: query.get('group') ?? '',
    from: Number(query.get('from')) || null, to: Number(query.get('to')) || null };
}

const isAll = (filter) => !filter.state && !filter.match && !filter.group && !filter.from && !filter.to;
const isPlain = (filter) => filter.state !== '' && !filter.match && !filter.group && !filter.from && !filter.to;

function scanQuery(filter, cursor, count) {
  return { cursor, state: filter.state, match: filter.match, group: filter.group, from: filter.from, to: filter.to, count };
}

// One part after the other, until there are `wanted` jobs or no more: a part may be empty and not the last one.
async function scanMore(topic, filter, known, wanted, signal) {
  const jobs = [...known.jobs];
  let { cursor } = known;
  const started = Date.now();
  do {
    const reply = await get(`/v1/topics/${topic}/jobs`, scanQuery(filter, cursor, isAll(filter) ? PART : 500), signal);
    jobs.push(...reply.jobs);
    cursor = reply.cursor;
  } while (cursor !== '0' && jobs.length < wanted && Date.now() - started < 10000);
  return { jobs, cursor: cursor === '0' ? null : cursor };
}

// The jobs of a filter: in order where the server has one, one by its id, or those that a scan finds.
async function findJobs(topic, filter, wanted, known, signal) {
  if (filter.match && !isGlob(filter.match) && !filter.from && !filter.to && !filter.group) {
    const job = await get(`/v1/topics/${topic}/jobs/${encodeName(filter.match)}`, null, signal).catch((error) => {
      if (error.status === 404)
        return null;
      throw error;
    });
    return { jobs: job && (!filter.state || job.state === filter.state) ? [job] : [], cursor: null };
  }
  if (isPlain(filter)) {
    const { jobs } = await get(`/v1/topics/${topic}/peek`, { state: filter.state, count: Math.min(wanted, 1000) }, signal);
    return { jobs, cursor: jobs.length >= wanted && wanted < 1000 ? 'peek' : null, isCut: jobs.length >= 1000 };
  }
  return scanMore(topic, filter, known ?? { jobs: [], cursor: '0' }, wanted, signal);
}

// All that match, for a bulk; a scan may say a job twice.
export async function findAll(topic, filter, tell, signal) {
  const found = new Map();
  let cursor = '0';
  do {
    if (signal.aborted)
      return null;
    const reply = await get(`/v1/topics/${topic}/jobs`, scanQuery(filter, cursor, 1000), signal);
    for (const job of reply.jobs)
      found.set(encodeName(job.id), { id: encodeName(job.id), state: job.state, due: job.due });
    cursor = reply.cursor;
    tell(0, 1, `${number(found.size)} found so far`);
    if (found.size > MATCH_MAX)
      throw refusal(`More than ${number(MATCH_MAX)} jobs match. Narrow the filter, or use purge.`);
  } while (cursor !== '0');
  return [...found];
}

function columnsOf(topic, selection) {
  return [
    selection ? { name: 'Select', head: selection.headBox(), cell: (job) => selection.box(encodeName(job.id), { id: encodeName(job.id), state: job.state, due: job.due }, nameText(job.id)) } : null,
    { name: 'Id', rowHead: true, wide: true, cell: (job) => link(address(['topics', topic, 'jobs', encodeName(job.id)]), code(nameText(job.id))) },
    { name: 'State', cell: (job) => stateTag(job.state) },
    { name: 'Due', head: 'Due, lease end, since', cell: (job) => moment(job.due) },
    { name: 'Claims', number: true, cell: (job) => number(job.attempt) },
    { name: 'Priority', number: true, cell: (job) => job.priority },
  ].filter(Boolean);
}

function filterForm(filter, change) {
  const input = (name, label, properties) => h('div', { class: 'field' }, h('label', { for: `filter-${name}` }, label),
    h('input', { id: `filter-${name}`, name, ...properties }));
  const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Jobs' },
    input('match', 'Id or glob', { type: 'search', value: filter.match, placeholder: 'order-17 or order-*', 'aria-keyshortcuts': '/', spellcheck: 'false' }),
    input('group', 'Group', { type: 'text', value: filter.group, spellcheck: 'false' }),
    input('from', 'Due from', { type: 'datetime-local', step: 1, value: filter.from ? toField(filter.from) : '' }),
    input('to', 'Due to', { type: 'datetime-local', step: 1, value: filter.to ? toField(filter.to) : '' }),
    h('div', { class: 'filter-buttons' }, h('button', { type: 'submit' }, 'Find'), button('Reset', () => {
      form.reset();
      for (const one of form.querySelectorAll('input'))
        one.value = '';
      change({ match: '', group: '', from: null, to: null });
    }, 'quiet')));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { match, group, from, to } = form.elements;
    change({ match: match.value.trim(), group: group.value, from: fromField(from.value), to: fromField(to.value) });
  });
  return form;
}

function stateTabs(filter, stats, change) {
  return STATES.map((state) => h('button', { type: 'button', class: 'segment-button', 'aria-pressed': filter.state === state ? 'true' : 'false',
    onclick: () => change({ state }) }, state === '' ? 'All' : state[0].toUpperCase() + state.slice(1),
  stats && state ? h('span', { class: 'segment-count' }, compact(stats[state])) : null));
}

async function purge(topic, filter, stats, done) {
  const { state, match } = filter;
  const known = match || !state ? null : stats[state];
  const count = known ?? (await progressDialog('Counting what this removes', (tell, signal) => findAll(topic, { state, match }, tell, signal)))
    ?.filter(([, job]) => job.state !== 'claimed').length;
  if (count === undefined)
    return;
  let purged = 0;
  const isSure = await confirmDialog({ title: `Purge ${plural(count, 'job')}`, danger: true, action: `Purge ${plural(count, 'job')}`,
    text: `${state ? `All ${state} jobs` : 'All delayed, ready, waiting, dead and done jobs'} of ${decodeName(topic)}${match ? ` whose id matches ${match}` : ''} are removed. Claimed ones stay. This cannot be taken back.`,
    run: async () => { ({ purged } = await post(`/v1/topics/${topic}/purge`, { ...state && { state }, ...match && { match } })); } });
  if (isSure) {
    notify(`${plural(purged, 'job')} purged.`);
    done();
  }
}

const nothing = (topic, filter) => filter.match || filter.group || filter.from || filter.to
  ? empty('No job fits this filter', 'A glob matches the whole id: ', code('order-*'), '. Reset the filter to see all jobs.')
  : empty(filter.state ? `No job is ${filter.state}` : 'The topic has no jobs', filter.state === 'waiting' ? ['A job that is pushed with ', code('AFTER'), ' waits until others are done.'] : filter.state === 'done' ? ['Done jobs are kept when the setting ', code('keep'), ' says for how long.']
    : ['Push one here, or from a shell: ', code(`dueq push ${decodeName(topic)} "hello"`)]);

export async function showJobs(main, { topic }, query, life) {
  const filter = readFilter(query);
  const bar = topicBar(topic, 'jobs');
  const tabs = h('div', { class: 'segments', role: 'group', 'aria-label': 'State' });
  const chosen = h('div', { class: 'chosen' });
  const list = h('div', { 'aria-busy': 'true' });
  const bulk = ['run', 'reschedule', 'move', 'cancel', 'remove'].filter((name) => can(ACTIONS[name].command));
  let stats = null;
  let found = null;
  let wanted = PART;
  let shown = '';
  let asked = 0;

  const selection = bulk.length ? newSelection(() => showBar(chosen, selectionBar(selection.items().length,
    bulk.map((name) => ({ text: ACTIONS[name].text, danger: ACTIONS[name].danger, run: () => act(name, topic, selection.items(), afterBulk) })),
    () => selection.clear()))) : null;
  const afterBulk = () => {
    selection?.clear();
    return load();
  };

  const load = async () => {
    const mine = ++asked;
    try {
      const [figures, jobs] = await Promise.all([get(`/v1/topics/${topic}`, null, life.signal), findJobs(topic, filter, wanted, null, life.signal)]);
      if (mine !== asked || life.isOver())
        return;
      stats = figures;
      found = jobs;
      draw();
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver()) {
        shown = '';
        showFailure(list, error, load);
      }
    }
  };
  const more = async () => {
    wanted += found.cursor === 'peek' ? 200 : PART;
    try {
      found = found.cursor === 'peek' ? await findJobs(topic, filter, wanted, null, life.signal)
        : await scanMore(topic, filter, found, found.jobs.length + PART, life.signal);
      wanted = Math.max(wanted, found.jobs.length);
      draw();
      say(`${plural(found.jobs.length, 'job')} shown`);
    } catch (error) {
      complain(error);
    }
  };
  const change = (changed) => {
    Object.assign(filter, changed);
    setQuery(filter);
    wanted = PART;
    selection?.clear();
    return load().then(() => say(`${plural(found?.jobs.length ?? 0, 'job')} shown`));
  };
  const selectAll = async () => {
    try {
      const all = await progressDialog('Finding all that match', (tell, signal) => findAll(topic, filter, tell, signal));
      if (all)
        selection.add(all);
    } catch (error) {
      complain(error);
    }
  };

  const footOf = () => h('div', { class: 'foot' },
    h('span', { class: 'dim' }, `${number(found.jobs.length)} shown${isPlain(filter) ? `, ${ORDER[filter.state]}` : ''}${found.isCut ? '; set a filter to see others' : ''}`),
    found.cursor ? button('Show more', more) : null,
    selection && found.jobs.length ? button('Select all that match', selectAll, 'quiet') : null,
    can('q.purge') && filter.state !== 'claimed' && !filter.from && !filter.to && !filter.group
      ? button('Purge …', () => purge(topic, filter, stats, load).catch(complain), 'danger-text') : null);
  const draw = () => {
    list.removeAttribute('aria-busy');
    bar.showPause(stats.paused);
    const focusTab = focusIn(tabs);
    replace(tabs, stateTabs(filter, stats, change));
    focusTab();
    const text = JSON.stringify([found, filter]);
    if (text === shown)
      return;
    shown = text;
    const focus = focusIn(list);
    selection?.forgetBoxes();
    replace(list, found.jobs.length ? [table(`Jobs of ${decodeName(topic)}`, columnsOf(topic, selection), found.jobs, { class: 'cards' }), footOf()] : nothing(topic, filter));
    focus();
  };

  if (can('q.push'))
    bar.actions.append(h('button', { type: 'button', class: 'strong', 'data-key': 'n', onclick: () => pushJob(topic, load) }, 'Push a job'));
  main.append(bar.element, tabs, filterForm(filter, change), chosen, list);
  await load();
  listen({ topic: decodeName(topic) }, { again: load, topic: whenChanged(atMostEach(1500, load)) }, life);
}

