// The dead jobs of a topic: why they died, and their way back.
import { h, button, code, empty, link, replace, say, table } from './element.js';
import { can, get, post } from './api.js';
import { decodeName, encodeName, moment, nameText, number, plural } from './format.js';
import { address, setQuery } from './router.js';
import { act } from './actions.js';
import { focusIn } from './overview.js';
import { formDialog } from './dialog.js';
import { newSelection, selectionBar, showBar } from './selection.js';
import { atMostEach, listen, whenChanged } from './live.js';
import { complain, showFailure, notify } from './notice.js';
import { globLiteral } from './job.js';
import { topicBar } from './topicbar.js';

const PART = 100;

const filled = (filter) => Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));

function filterText(filter) {
  const parts = [filter.match ? `whose id matches ${filter.match}` : '', filter.error ? `whose error matches ${filter.error}` : '',
    filter.older ? `that have been dead for ${filter.older}` : ''].filter(Boolean);
  return parts.length ? ` ${parts.join(' and ')}` : '';
}

function columnsOf(topic, selection) {
  return [
    selection ? { name: 'Select', head: selection.headBox(), cell: (job) => selection.box(encodeName(job.id), { id: encodeName(job.id), state: 'dead' }, nameText(job.id)) } : null,
    { name: 'Id', rowHead: true, cell: (job) => link(address(['topics', topic, 'jobs', encodeName(job.id)]), code(nameText(job.id))) },
    { name: 'Error', wide: true, cell: (job) => h('span', { class: 'error-line' }, job.error === null ? 'none' : nameText(job.error)) },
    { name: 'Died', cell: (job) => moment(job.died) },
    { name: 'Claims', number: true, cell: (job) => number(job.attempt) },
    { name: 'Failures', number: true, cell: (job) => number(job.failures) },
    { name: 'Leases run out', number: true, cell: (job) => number(job['leases-expired']) },
  ].filter(Boolean);
}

// What it would do is counted by the server before it is asked for.
async function redrive(topic, filter, done) {
  const path = `/v1/topics/${topic}/dead/redrive`;
  const would = await post(path, { ...filled(filter), dryrun: true });
  const left = would.left ? ` ${number(would.left)} stay dead: there is no room for them, or their ids are taken.` : '';
  let result = null;
  const isSure = await formDialog({ title: `Redrive ${plural(would.redriven, 'job')}`, action: `Redrive ${plural(would.redriven, 'job')}`,
    text: `The dead jobs of ${decodeName(topic)}${filterText(filter)} begin anew, without attempts and failures.${left}`,
    fields: [{ name: 'to', label: 'To the topic', hint: `Empty: ${decodeName(topic)} itself` },
      { name: 'rate', label: 'Rate', hint: 'As “100 1s”: so many fall due in each duration. Empty: all at once' }],
    run: async (values) => { result = await post(path, { ...filled(filter), ...filled(values) }); } });
  if (isSure) {
    notify(`${plural(result.redriven, 'job')} redriven.${result.left ? ` ${number(result.left)} stay dead.` : ''}`);
    done();
  }
}

async function purge(topic, filter, done) {
  const path = `/v1/topics/${topic}/dead/purge`;
  const { purged: count } = await post(path, { ...filled(filter), dryrun: true });
  let purged = 0;
  const isSure = await formDialog({ title: `Purge ${plural(count, 'dead job')}`, danger: true, action: `Purge ${plural(count, 'job')}`,
    text: `The dead jobs of ${decodeName(topic)}${filterText(filter)} are removed. This cannot be taken back.`,
    run: async () => { ({ purged } = await post(path, filled(filter))); } });
  if (isSure) {
    notify(`${plural(purged, 'dead job')} purged.`);
    done();
  }
}

async function redriveChosen(topic, jobs, done) {
  const isSure = await formDialog({ title: `Redrive ${plural(jobs.length, 'job')}`, action: `Redrive ${plural(jobs.length, 'job')}`,
    text: 'They begin anew: due now, without attempts and failures.', run: async () => {
      let redriven = 0;
      for (const { id } of jobs)
        redriven += (await post(`/v1/topics/${topic}/dead/redrive`, { match: globLiteral(decodeName(id)), limit: 1 })).redriven;
      notify(`${number(redriven)} of ${plural(jobs.length, 'job')} redriven.`);
    } });
  if (isSure)
    done();
}

function filterForm(filter, change) {
  const input = (name, label, placeholder, type) => h('div', { class: 'field' }, h('label', { for: `dead-${name}` }, label),
    h('input', { id: `dead-${name}`, name, type, value: filter[name], placeholder, spellcheck: 'false' }));
  const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Dead jobs' }, input('match', 'Id or glob', 'order-*', 'search'),
    input('error', 'Error, a glob', '*timeout*', 'text'), input('older', 'Dead for', '1h', 'text'),
    h('div', { class: 'filter-buttons' }, h('button', { type: 'submit' }, 'Find'), button('Reset', () => {
      for (const one of form.querySelectorAll('input'))
        one.value = '';
      change({ match: '', error: '', older: '' });
    }, 'quiet')));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    change({ match: form.elements.match.value.trim(), error: form.elements.error.value.trim(), older: form.elements.older.value.trim() });
  });
  return form;
}

export async function showDead(main, { topic }, query, life) {
  const filter = { match: query.get('match') ?? '', error: query.get('error') ?? '', older: query.get('older') ?? '' };
  const bar = topicBar(topic, 'dead');
  const chosen = h('div', { class: 'chosen' });
  const list = h('div', { 'aria-busy': 'true' });
  let limit = PART;
  let shown = '';
  const mayDead = can('q.dead');
  const mayChange = mayDead && can('q.del');
  const afterBulk = () => { selection.clear(); return load(); };
  const selection = mayChange ? newSelection(() => showBar(chosen, selectionBar(selection.items().length, [
    { text: 'Redrive', run: () => redriveChosen(topic, selection.items(), afterBulk).catch(complain) },
    { text: 'Delete', danger: true, run: () => act('remove', topic, selection.items(), afterBulk) }], () => selection.clear()))) : null;

  const draw = (jobs, count) => {
    list.removeAttribute('aria-busy');
    const text = JSON.stringify([jobs, count, limit]);
    if (text === shown)
      return;
    shown = text;
    const focus = focusIn(list);
    selection?.forgetBoxes();
    replace(list, jobs.length ? [table(`Dead jobs of ${decodeName(topic)}`, columnsOf(topic, selection), jobs, { class: 'cards' }),
      h('div', { class: 'foot' }, h('span', { class: 'dim' }, `${number(jobs.length)} of ${number(count)} shown, those that died first before the others`),
        jobs.length >= limit && limit < 10000 ? button('Show more', () => { limit *= 4; load(); }) : null,
        mayChange ? button(`Redrive all ${number(count)} …`, () => redrive(topic, filter, load).catch(complain)) : null,
        mayChange ? button(`Purge all ${number(count)} …`, () => purge(topic, filter, load).catch(complain), 'danger-text') : null)]
      : empty(filterText(filter) ? 'No dead job fits this filter' : 'No job is dead', filterText(filter) ? ['A glob matches the whole text: ', code('*timeout*'), '.']
        : 'A job dies when its retries are used up, or a worker says that it cannot be done.'));
    focus();
  };
  const load = async () => {
    try {
      const path = `/v1/topics/${topic}/dead`;
      const [{ jobs }, { count }] = await Promise.all([get(path, { ...filter, limit }, life.signal), get(`${path}/count`, filter, life.signal)]);
      if (!life.isOver())
        draw(jobs, count);
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver()) {
        shown = '';
        showFailure(list, error, load);
      }
    }
  };
  const change = (changed) => {
    Object.assign(filter, changed);
    setQuery(filter);
    selection?.clear();
    return load().then(() => say('The list is shown anew'));
  };
  main.append(bar.element, filterForm(filter, change), chosen, list);
  await load();
  listen({ topic: decodeName(topic) }, { again: load, topic: whenChanged(atMostEach(2000, load)) }, life);
}

