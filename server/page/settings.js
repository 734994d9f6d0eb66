// The settings of a topic: what holds, where it comes from, and changing it.
import { h, code, replace, table } from './element.js';
import { can, get, patch, remove } from './api.js';
import { bytes, decodeName, duration, durationWord, number } from './format.js';
import { formDialog } from './dialog.js';
import { complain, showFailure, notify } from './notice.js';
import { topicBar } from './topicbar.js';

const DURATIONS = ['lease', 'ttl', 'keep', 'dead-keep', 'age-after'];
const BYTES = ['max-bytes', 'max-body'];
const OFF = ['ttl', 'keep', 'dead-topic', 'age-after'];
const COUNTS = ['retries', 'crashes', 'dead-max', 'max-length', 'concurrency', 'group-concurrency', 'events'];
const CHOICES = { 'ttl-action': ['dead', 'drop'], overflow: ['reject', 'drop-oldest'], 'group-on-failure': ['hold', 'pass'], durability: ['always', 'interval'] };

const MEANINGS = {
  lease: 'How long a claim lasts', retries: 'Failures that a job survives', crashes: 'Ends of leases that a job survives',
  backoff: 'The wait before another attempt', ttl: 'Unclaimed for so long after it was due: dead', 'ttl-action': 'What the end of the ttl does',
  keep: 'How long done jobs are kept', 'dead-keep': 'How long dead jobs are kept', 'dead-max': 'How many dead jobs are kept',
  'dead-topic': 'The topic that dead jobs go to', 'max-length': 'Delayed, ready and claimed jobs at most', 'max-bytes': 'Bytes of all bodies at most',
  overflow: 'What happens when a limit is reached', 'max-body': 'Bytes of one body at most', durability: 'When replies leave: after the sync, or after the write',
  'group-mode': 'What groups share: none, serial, fair, or cap n', 'group-on-failure': 'Whether others of a group wait for a failed job',
  'age-after': 'A ready job gains a priority each time it has waited so long', concurrency: 'Claimed jobs at a time',
  'group-concurrency': 'Claimed jobs of each group at a time', rate: 'Claims in a time, as 100/1s', 'group-rate': 'Claims of each group in a time',
  events: 'How many events the topic keeps',
};

// The server writes milliseconds; people write 1s.
function words(name, value) {
  if (name === 'backoff')
    return value.replace(/\b\d{3,}\b/g, (ms) => durationWord(Number(ms)));
  return name.endsWith('rate') ? value.replace(/\/(\d+)ms/, (_, ms) => `/${durationWord(Number(ms))}`) : value;
}

export function valueText(name, value) {
  if (value === null)
    return h('span', { class: 'dim' }, OFF.includes(name) ? 'off' : 'no limit');
  if (DURATIONS.includes(name))
    return duration(Number(value));
  return BYTES.includes(name) ? bytes(Number(value)) : COUNTS.includes(name) ? number(Number(value)) : words(name, value);
}

function fieldValue(name, value) {
  if (value === null)
    return '';
  if (DURATIONS.includes(name))
    return durationWord(Number(value));
  return words(name, value);
}

const fromText = (from) => from === 'topic' ? h('span', { class: 'tag is-own' }, 'this topic') : from === 'server' ? h('span', { class: 'dim' }, 'server') : h('span', { class: 'tag' }, 'pattern ', code(from));

const hintOf = (name) => DURATIONS.includes(name) ? 'A duration as 30s, 5m, 2h or 7d' : BYTES.includes(name) ? 'Bytes, as 64kb, 1mb or 1gb'
  : { backoff: 'Words as 5s 1h, FIXED 10s, EXP 1s 1h JITTER 10, STEPS 2m 10m 1h', rate: 'As 100/1s, or 100/1s burst 20', 'group-rate': 'As 100/1s, or 100/1s burst 20',
    'group-mode': 'none, serial, fair, or “cap n”' }[name];

async function edit(topic, name, { value }, done) {
  const isDone = await formDialog({ title: `Set ${name} of ${decodeName(topic)}`, text: `${MEANINGS[name] ?? ''}.`, action: 'Set',
    fields: [{ name: 'value', label: name, value: fieldValue(name, value), required: true, hint: hintOf(name), choices: CHOICES[name]?.map((choice) => [choice, choice]),
      type: COUNTS.includes(name) ? 'number' : 'text' }],
    run: (values) => patch(`/v1/topics/${topic}/settings`, { [name]: values.value }) });
  if (isDone) {
    notify(`${name} is set, and holds from now on.`, value === null ? null : { text: 'Undo', run: async () => {
      await patch(`/v1/topics/${topic}/settings`, { [name]: fieldValue(name, value) });
      done();
    } });
    done();
  }
}

async function reset(topic, name, { value }, done) {
  try {
    await remove(`/v1/topics/${topic}/settings`, { name });
    notify(`${name} is no longer set by this topic.`, { text: 'Undo', run: async () => {
      await patch(`/v1/topics/${topic}/settings`, { [name]: fieldValue(name, value) });
      done();
    } });
  } catch (error) {
    complain(error);
  }
  done();
}

const named = (text, name, onclick) => h('button', { type: 'button', class: 'quiet', 'aria-label': `${text} ${name}`, onclick }, text);

export async function showSettings(main, { topic }, query, life) {
  const bar = topicBar(topic, 'settings');
  const list = h('div', { 'aria-busy': 'true' });
  const load = async () => {
    try {
      const [settings, stats] = await Promise.all([get(`/v1/topics/${topic}/settings`, null, life.signal), get(`/v1/topics/${topic}`, null, life.signal)]);
      bar.showPause(stats.paused);
      list.removeAttribute('aria-busy');
      const focus = document.activeElement?.getAttribute('aria-label');
      replace(list, table(`Settings of ${decodeName(topic)}`, [
        { name: 'Setting', rowHead: true, cell: ([name]) => [code(name), h('span', { class: 'meaning' }, MEANINGS[name] ?? '')] },
        { name: 'Value', cell: ([name, { value }]) => h('span', { class: 'value' }, valueText(name, value)) },
        { name: 'Comes from', cell: ([, { from }]) => fromText(from) },
        can('q.config|set') || can('q.config|reset') ? { name: 'Change', head: h('span', { class: 'unseen' }, 'Change'), cell: ([name, setting]) => h('span', { class: 'row-actions' },
          can('q.config|set') ? named('Set', name, () => edit(topic, name, setting, load)) : null,
          can('q.config|reset') && setting.from === 'topic' ? named('Reset', name, () => reset(topic, name, setting, load)) : null) } : null,
      ].filter(Boolean), Object.entries(settings), { class: 'cards settings' }));
      if (focus)
        [...list.querySelectorAll('button')].find((one) => one.getAttribute('aria-label') === focus)?.focus({ preventScroll: true });
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver())
        showFailure(list, error, load);
    }
  };
  main.append(bar.element, h('p', { class: 'lead' }, 'A job’s own option counts first, then the topic’s, then that of the longest pattern that matches, then the server’s.'), list);
  await load();
}
