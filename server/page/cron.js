// Recurring jobs: what they push, when, and what came of it.
import { h, button, code, empty, link, replace, say, table } from './element.js';
import { can, get, post, remove, request } from './api.js';
import { duration, encodeName, fullMoment, moment, nameText, number, plural } from './format.js';
import { address } from './router.js';
import { confirmDialog, formDialog, showDialog } from './dialog.js';
import { complain, showFailure, notify } from './notice.js';

const PART = 1000;

const whenText = (entry) => entry.every !== null ? `every ${duration(entry.every)}` : [code(nameText(entry.spec)), entry.tz ? h('span', { class: 'dim' }, ` ${nameText(entry.tz)}`) : ''];
const pathOf = (entry) => `/v1/cron/${encodeName(entry.name)}`;

function stateOf(entry) {
  if (entry.error !== null)
    return h('span', { class: 'tag is-dead', title: nameText(entry.error) }, nameText(entry.error));
  return entry.paused ? h('span', { class: 'tag is-paused' }, 'paused') : h('span', { class: 'tag' }, 'runs');
}

async function run(entry, done) {
  const reply = await post(`${pathOf(entry)}/run`);
  const id = reply?.id ?? null;
  notify(id === null ? 'Nothing was pushed: the job of the firing before has not ended (OVERLAP SKIP).'
    : ['Pushed as ', link(address(['topics', encodeName(entry.topic), 'jobs', encodeName(id)]), nameText(id)), '.']);
  done();
}

async function toggle(entry, done) {
  await post(`${pathOf(entry)}/${entry.paused ? 'resume' : 'pause'}`);
  notify(`${nameText(entry.name)} ${entry.paused ? 'goes on' : 'is paused'}.`, { text: 'Undo', run: async () => {
    await post(`${pathOf(entry)}/${entry.paused ? 'pause' : 'resume'}`);
    done();
  } });
  done();
}

async function forget(entry, done) {
  const isSure = await confirmDialog({ title: `Delete ${nameText(entry.name)}`, danger: true, action: 'Delete', text: 'It pushes no more jobs. Jobs that it has pushed stay. This cannot be taken back.',
    run: () => remove(pathOf(entry)) });
  if (isSure)
    done();
}

async function showNext(entry) {
  const { times } = await get(`${pathOf(entry)}/next`, { count: 10 });
  await showDialog(`The next times of ${nameText(entry.name)}`, h('ol', { class: 'times' }, times.map((time) => h('li', null, fullMoment(time)))));
}

async function add(done) {
  const fields = [{ name: 'name', label: 'Name', required: true, hint: 'An entry of this name is changed.' }, { name: 'topic', label: 'Topic', required: true },
    { name: 'body', label: 'Body', rows: 3 }, { name: 'every', label: 'Every', hint: 'As 30s, 5m or 1d. Or a spec:' },
    { name: 'spec', label: 'Spec', hint: 'As in cron: 0 6 * * mon, or @daily' }, { name: 'tz', label: 'Time zone', hint: 'Of the spec, as Europe/Berlin. Empty: UTC' },
    { name: 'catchup', label: 'Missed times', choices: [['NONE', 'pass over them'], ['ONE', 'fire once for all'], ['ALL', 'fire for each']], value: 'NONE' },
    { name: 'overlap', label: 'When the job before has not ended', choices: [['QUEUE', 'push another'], ['SKIP', 'push nothing']], value: 'QUEUE' }];
  const isDone = await formDialog({ title: 'Add a recurring job', fields, action: 'Add', run: ({ name, ...values }) =>
    request('PUT', `/v1/cron/${encodeURIComponent(name)}`, { body: Object.fromEntries(Object.entries(values).filter(([key, value]) => value !== '' || key === 'body')) }) });
  if (isDone) {
    notify('Added.');
    done();
  }
}

function buttonsOf(entry, done) {
  const named = (text, act, kind) => h('button', { type: 'button', class: kind, 'aria-label': `${text} ${nameText(entry.name)}`, onclick: () => act(entry, done).catch(complain) }, text);
  return h('span', { class: 'row-actions' }, can('q.cron|next') ? named('Next', showNext, 'quiet') : null, can('q.cron|run') ? named('Run now', run, 'quiet') : null,
    can(entry.paused ? 'q.cron|resume' : 'q.cron|pause') ? named(entry.paused ? 'Resume' : 'Pause', toggle, 'quiet') : null,
    can('q.cron|del') ? named('Delete', forget, 'danger-text') : null);
}

const columnsOf = (done, isOfTopic) => [
  { name: 'Name', rowHead: true, wide: true, cell: (entry) => code(nameText(entry.name)) },
  isOfTopic ? null : { name: 'Topic', cell: (entry) => link(address(['topics', encodeName(entry.topic)]), nameText(entry.topic)) },
  { name: 'When', cell: whenText },
  { name: 'State', cell: stateOf },
  { name: 'Next', cell: (entry) => entry.paused ? '–' : moment(entry.next) },
  { name: 'Last', cell: (entry) => entry['last-id'] === null ? '–' : link(address(['topics', encodeName(entry.topic), 'jobs', encodeName(entry['last-id'])]), moment(entry.last)) },
  { name: 'Fired', number: true, cell: (entry) => number(entry.fired) },
  { name: 'Missed', number: true, cell: (entry) => number(entry.missed) },
  { name: 'Actions', head: h('span', { class: 'unseen' }, 'Actions'), cell: (entry) => buttonsOf(entry, done) },
].filter(Boolean);

const entriesOf = async (signal, after) => (await get('/v1/cron', { count: PART, after }, signal)).entries;

// The entries that `wanted` takes as a table for another view; null when there are none.
export async function cronTable(life, wanted) {
  const place = h('div');
  const load = async () => {
    const entries = (await entriesOf(life.signal)).filter(wanted);
    replace(place, entries.length ? table('Recurring jobs', columnsOf(load, true), entries, { class: 'cards' }) : '');
    return entries.length;
  };
  return await load() ? place : null;
}

export async function showCron(main, names, query, life) {
  const list = h('div', { 'aria-busy': 'true' });
  const known = [];
  const draw = (isMore) => replace(list, known.length ? [table('Recurring jobs', columnsOf(load), known, { class: 'cards' }),
    isMore ? button('Show more', more) : null] : empty('No job recurs yet', 'Add one here, or from a shell: ', code('dueq cron set beat health ping --every 1h')));
  const read = async (after) => {
    try {
      const entries = await entriesOf(life.signal, after);
      list.removeAttribute('aria-busy');
      known.push(...entries);
      draw(entries.length === PART);
      say(plural(known.length, 'recurring job'));
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver())
        showFailure(list, error, load);
    }
  };
  const load = () => {
    known.length = 0;
    return read();
  };
  const more = () => read(nameText(known.at(-1).name));
  main.append(h('div', { class: 'head' }, h('h1', null, 'Recurring jobs'), h('div', { class: 'head-end' },
    can('q.cron|set') ? h('button', { type: 'button', class: 'strong', 'data-key': 'n', onclick: () => add(load).catch(complain) }, 'Add') : null)), list);
  await load();
}
