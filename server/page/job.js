// One job: what it is, why it does not run now, what happened to it, what can be done.
import { h, button, facts, link, replace, section, stateTag, table, code } from './element.js';
import { can, get, post, refusal } from './api.js';
import { decodeName, duration, fullMoment, nameText, number, plural } from './format.js';
import { address, go } from './router.js';
import { ACTIONS, act, editJob } from './actions.js';
import { bodyView } from './body.js';
import { ON_DEAD, otherJob } from './waits.js';
import { atMostEach, listen, whenChanged } from './live.js';
import { complain, showFailure, notify } from './notice.js';
import { confirmDialog } from './dialog.js';

const DUE_WORDS = { claimed: 'Lease ends', dead: 'Dead since', done: 'Done since', waiting: 'Waits since' };

function backoffText(job) {
  if (job.steps?.length)
    return job.steps.map(duration).join(', ');
  const text = job.backoff >= job['backoff-max'] ? `${duration(job['backoff-max'])} each time` : `${duration(job.backoff)}, doubled up to ${duration(job['backoff-max'])}`;
  return job.jitter ? `${text}, ± ${job.jitter} %` : text;
}

const jobFacts = (job) => facts([
  [DUE_WORDS[job.state] ?? 'Due', fullMoment(job.due)],
  ['Pushed', fullMoment(job.pushed)],
  job['claimed-at'] ? ['Claimed', fullMoment(job['claimed-at'])] : null,
  job['kept-until'] ? ['Kept until', fullMoment(job['kept-until'])] : null,
  job.worker ? ['Worker', nameText(job.worker)] : null,
  job.progress ? ['Progress', nameText(job.progress)] : null,
  ['Priority', `${job.priority}`],
  job.group === null ? null : ['Group', `${nameText(job.group)}${job.weight > 1 ? `, weight ${job.weight}` : ''}`],
  ['Claims so far', number(job.attempt)],
  ['Failures', `${number(job.failures)} of ${number(job.retries)} that it survives`],
  ['Leases run out', `${number(job['leases-expired'])} of ${number(job.crashes)} that it survives`],
  ['Lease', duration(job.lease)],
  ['Backoff', backoffText(job)],
  job.ttl ? ['Time to live', duration(job.ttl)] : null,
  job.window ? ['Id stays taken', duration(job.window)] : null,
]);

const OUTCOMES = { failed: 'failed', silent: 'given back, not counted', fatal: 'failed for good', crashed: 'lease ran out' };

function attemptsOf(job) {
  if (!job.attempts.length)
    return h('p', { class: 'dim' }, job.attempt ? 'No claim has ended without an ack.' : 'It was not claimed yet.');
  return table('Claims that ended without an ack, the last 8', [
    { name: 'Ended', rowHead: true, cell: (attempt) => fullMoment(attempt.ended) },
    { name: 'Outcome', cell: (attempt) => OUTCOMES[attempt.outcome] ?? attempt.outcome },
    { name: 'Took', number: true, cell: (attempt) => duration(attempt.duration) },
    { name: 'Worker', cell: (attempt) => nameText(attempt.worker) },
  ], [...job.attempts].reverse());
}

// What a waiting job waits for: the first hundred.
const waitsFor = (topic, job) => section(`Waits for ${plural(job.awaits, 'job')}`,
  h('ul', { class: 'others' }, job.after.map((other) => h('li', null, otherJob(topic, other)))),
  job.awaits > job.after.length ? h('p', { class: 'dim' }, `And ${number(job.awaits - job.after.length)} more.`) : null,
  facts([['When one of them dies', ON_DEAD[job['on-dead']]]]), h('p', { class: 'dim' }, 'Run now lets it run without them.'));

function why(explained) {
  return h('p', { class: `why is-${explained.reason}` }, stateTag(explained.state ?? 'gone'), h('span', null, explained.text),
    explained.reason === 'paused' || explained.reason === 'limit' ? h('span', { class: 'dim' }, ' See the settings of the topic.') : null);
}

async function redriveOne(topic, id, job, done) {
  const body = { match: globLiteral(decodeName(id)), limit: 1 };
  const isSure = await confirmDialog({ title: 'Redrive 1 job', text: `${decodeName(id)} begins anew: due now, without attempts and failures. Its last error stays visible.`,
    action: 'Redrive', run: async () => {
      const { redriven } = await post(`/v1/topics/${topic}/dead/redrive`, body);
      if (!redriven)
        throw refusal('It stays dead: the topic has no room for it, or it is no longer dead.');
    } });
  if (isSure) {
    notify('Redriven: it is due now.');
    done();
  }
}

export const globLiteral = (text) => text.replace(/[*?[\]\\^]/g, '\\$&');

function buttonsOf(topic, id, job, done) {
  const one = [{ id, state: job.state, due: job.due }];
  const names = ['run', 'reschedule', 'move', 'cancel', 'remove'].filter((name) => can(ACTIONS[name].command) && ACTIONS[name].fits(job.state));
  const buttons = names.map((name) => button(ACTIONS[name].text, () => act(name, topic, one, done), ACTIONS[name].danger ? 'danger-text' : null));
  if (can('q.update') && job.state !== 'done')
    buttons.splice(names.filter((name) => !ACTIONS[name].danger).length, 0, button('Edit', () => editJob(topic, id, job, done).catch(complain)));
  if (can('q.dead') && job.state === 'dead')
    buttons.unshift(button('Redrive', () => redriveOne(topic, id, job, done), 'strong'));
  return buttons;
}

const gone = (topic, explained) => h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, 'There is no such job'),
  h('p', null, explained?.text ?? ''), h('p', null, link(address(['topics', topic, 'jobs']), 'See the jobs of the topic')));

function drawJob(place, topic, id, job, explained, done) {
  const old = place.querySelector('.body-view');
  const isSame = place.dataset.body === JSON.stringify(job.body);
  const body = isSame && old ? old : bodyView(job.body, 'body'); // what is folded stays folded
  place.dataset.body = JSON.stringify(job.body);
  replace(place, explained ? why(explained) : null,
    job.cancelled ? h('p', { class: 'why' }, 'It was cancelled: its worker learns of it, and it is not tried again.') : null,
    h('div', { class: 'columns' },
      h('div', null, section('Body', body), job.result === null ? null : section('Result', bodyView(job.result, 'result')),
        job.error === null ? null : section('Last error', h('pre', { class: 'error-text' }, nameText(job.error)))),
      h('div', null, job.state === 'waiting' ? waitsFor(topic, job) : null, section('Details', jobFacts(job)), section('Attempts', attemptsOf(job)))));
}

export async function showJob(main, { topic, id }, query, life) {
  const actions = h('div', { class: 'head-end' });
  const place = h('div', { class: 'job', 'aria-busy': 'true' });
  main.append(h('nav', { 'aria-label': 'Where this is', class: 'trail' }, link('#/', 'Topics'), h('span', { 'aria-hidden': 'true' }, '/'),
    link(address(['topics', topic]), decodeName(topic)), h('span', { 'aria-hidden': 'true' }, '/'), link(address(['topics', topic, 'jobs']), 'Jobs'),
    h('span', { 'aria-hidden': 'true' }, '/')),
  h('div', { class: 'head' }, h('h1', null, h('span', { class: 'unseen' }, 'Job '), code(decodeName(id))), actions), place);

  let shown = '';
  const load = async () => {
    try {
      const path = `/v1/topics/${topic}/jobs/${id}`;
      const [job, explained] = await Promise.all([get(path, null, life.signal).catch(noJob), can('q.explain') ? get(`${path}/explain`, null, life.signal) : null]);
      place.removeAttribute('aria-busy');
      const text = JSON.stringify([job, { ...explained, wait: 0, text: explained?.text.replace(/\d+/g, '') }]);
      if (text === shown || life.isOver())
        return;
      shown = text;
      replace(actions, job ? buttonsOf(topic, id, job, (name) => name === 'remove' ? go(address(['topics', topic, 'jobs'])) : load()) : null);
      if (job)
        drawJob(place, topic, id, job, explained, load);
      else
        replace(place, gone(topic, explained));
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver()) {
        shown = '';
        showFailure(place, error, load);
      }
    }
  };
  await load();
  listen({ topic: decodeName(topic) }, { again: load, topic: whenChanged(atMostEach(1000, load)) }, life);
}

function noJob(error) {
  if (error.status === 404)
    return null;
  throw error;
}
