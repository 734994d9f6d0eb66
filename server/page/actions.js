// What can be done with jobs, with the rights it needs, what it asks before, and what takes it back.
import { get, patch, post, refusal, remove } from './api.js';
import { decodeName, durationWord, encodeName, fromField, nameText, nameValue, number, plural, toField, serverTime } from './format.js';
import { formDialog, progressDialog } from './dialog.js';
import { canPushAgain, pushAgain } from './push.js';
import { complain, notify } from './notice.js';

const pathOf = (topic, id) => `/v1/topics/${topic}/jobs/${id}`;
const waits = (state) => state === 'delayed' || state === 'ready';
const awaits = (state) => state === 'waiting';
const jobs = (count) => plural(count, 'job');

async function whenFields() {
  return { fields: [
    { name: 'delay', label: 'Due in', hint: 'From now, as 30s, 5m, 2h or 7d.' },
    { name: 'at', label: 'or due at', type: 'datetime-local', step: 1, hint: `In your time zone, as ${toField(serverTime()).replace('T', ' ')}.` }] };
}

function whenOf(values) {
  if (values.delay !== '')
    return { delay: values.delay };
  if (values.at === '')
    throw refusal('Say when: a delay as 5m, or a date and time.');
  return { at: fromField(values.at) };
}

// Each: may it be done in a state; the command whose right it needs; its words; what it asks for; one(topic, job, asked),
// which may return a function that takes it back.
export const ACTIONS = {
  run: { text: 'Run now', done: 'due now', command: 'q.run', fits: (state) => state === 'delayed' || awaits(state), one: async (topic, job) => {
    await post(`${pathOf(topic, job.id)}/run`);
    return awaits(job.state) ? null : () => post(`${pathOf(topic, job.id)}/reschedule`, { at: job.due });
  } },
  reschedule: { text: 'Reschedule', done: 'rescheduled', command: 'q.reschedule', fits: waits, ask: whenFields, parse: whenOf,
    one: async (topic, job, when) => {
      await post(`${pathOf(topic, job.id)}/reschedule`, when);
      return () => post(`${pathOf(topic, job.id)}/reschedule`, { at: job.due });
    } },
  move: { text: 'Move', done: 'moved', command: 'q.move', fits: waits, ask: async () => ({
    fields: [{ name: 'to', label: 'To the topic', required: true, hint: 'They keep their ids, due times and attempts.' }] }),
  parse: (values) => values, one: async (topic, job, { to }) => {
    await post(`${pathOf(topic, job.id)}/move`, { to });
    return () => post(`${pathOf(encodeName(to), job.id)}/move`, { to: nameValue(topic) });
  } },
  cancel: { text: 'Cancel', done: 'cancelled', command: 'q.cancel', fits: (state) => waits(state) || awaits(state) || state === 'claimed', danger: true,
    warn: 'Jobs that wait are removed. The worker of a claimed one is told, and it is not tried again. What has no attempts yet can be brought back.', one: async (topic, job, shared) => {
      const whole = waits(job.state) || awaits(job.state) ? await get(pathOf(topic, job.id)) : null;
      const { state } = await post(`${pathOf(topic, job.id)}/cancel`);
      return state === 'cancelled' && whole && canPushAgain(whole) ? () => pushAgain(topic, whole, shared) : null;
    } },
  remove: { text: 'Delete', done: 'deleted', command: 'q.del', fits: () => true, danger: true,
    warn: 'They are gone, in whatever state they are. This cannot be taken back.', one: async (topic, job) => {
      await remove(pathOf(topic, job.id));
    } },
};

async function askFirst(action, topic, list) {
  const { text, ask, parse, danger, warn } = action;
  let asked = {};
  const what = list.length === 1 ? `the job ${decodeName(list[0].id)}` : jobs(list.length);
  const isSure = await formDialog({ title: `${text}: ${jobs(list.length)}`, danger, action: `${text} ${jobs(list.length)}`,
    text: `${text} ${what} of ${decodeName(topic)}. ${warn ?? ''}`, ...ask ? await ask() : { fields: [] },
    run: async (values) => { asked = parse ? parse(values) : {}; } });
  return isSure ? asked : null;
}

// Runs `one` for each, some at a time; stops when it is told to. Returns how many were done, what takes them back, and errors.
async function runEach(list, one, tell, signal) {
  const result = { done: 0, undo: [], errors: [] };
  let next = 0;
  const worker = async () => {
    while (next < list.length && !signal.aborted) {
      const job = list[next++];
      try {
        const undo = await one(job);
        result.done += 1;
        if (undo)
          result.undo.push(undo);
      } catch (error) {
        result.errors.push(error);
      }
      tell(result.done + result.errors.length, list.length, `${number(result.done)} of ${jobs(list.length)} done`);
    }
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  return result;
}

const withProgress = (title, list, one) => list.length > 20 ? progressDialog(title, (tell, signal) => runEach(list, one, tell, signal))
  : runEach(list, one, () => {}, new AbortController().signal);

function tellResult(action, list, result, done) {
  if (result.done === 0 && result.errors.length)
    return complain(result.errors[0]);
  const failed = result.errors.length ? ` ${jobs(result.errors.length)} not: ${result.errors[0].message}` : '';
  const undo = result.undo.length ? { text: 'Undo', run: async () => {
    const back = await withProgress('Undo', result.undo, (take) => take());
    notify(back.errors.length ? `${jobs(back.done)} taken back, ${number(back.errors.length)} not: ${back.errors[0].message}` : `Taken back: ${jobs(back.done)}.`);
    done();
  } } : null;
  return notify(`${jobs(result.done)} ${action.done}.${failed}`, undo);
}

// Does it with jobs of {id (encoded), state, due}, after it has asked; then calls `done`. One that can be undone is not
// asked about unless it needs an answer.
export async function act(name, topic, list, done) {
  const action = ACTIONS[name];
  const fitting = list.filter(({ state }) => action.fits(state));
  if (!fitting.length)
    return notify(`None of them is in a state for this: ${action.text.toLowerCase()}.`);
  const isAsked = action.ask || action.danger || fitting.length > 1;
  const asked = isAsked ? await askFirst(action, topic, fitting) : {};
  if (!asked)
    return null;
  try {
    tellResult(action, fitting, await withProgress(action.text, fitting, (job) => action.one(topic, job, asked)), done);
  } catch (error) {
    complain(error);
  }
  return done(name);
}

// Changes what a job says; only what was changed is sent.
export async function editJob(topic, id, job, done) {
  const isText = typeof job.body === 'string' && job.body.length < 190000 && job.state !== 'claimed';
  const fields = [isText ? { name: 'body', label: 'Body', rows: 8, value: job.body } : null,
    { name: 'priority', label: 'Priority', type: 'number', value: job.priority, hint: '0 to 255, 0 is the most urgent' },
    { name: 'lease', label: 'Lease', value: durationWord(job.lease), hint: 'How long a claim lasts, as 60s or 5m' },
    { name: 'retries', label: 'Retries', type: 'number', value: job.retries, hint: 'Failures that the job survives' },
    { name: 'crashes', label: 'Crashes', type: 'number', value: job.crashes, hint: 'Ends of leases that the job survives' },
    { name: 'backoff', label: 'Backoff', value: '', hint: 'Empty: as it is. Words as 5s 1h, FIXED 10s, STEPS 2m 10m 1h' },
  ].filter(Boolean);
  const before = Object.fromEntries(fields.map(({ name, value }) => [name, String(value)]));
  const isDone = await formDialog({ title: `Edit ${nameText(job.id)}`, fields, action: 'Save', run: async (values) => {
    const changed = Object.entries(values).filter(([name, value]) => value !== before[name] && (name === 'body' || value !== ''));
    if (changed.length)
      await patch(pathOf(topic, id), Object.fromEntries(changed.map(([name, value]) => [name, /^(priority|retries|crashes)$/.test(name) ? Number(value) : value])));
  } });
  if (isDone) {
    notify('Saved.');
    done();
  }
}
