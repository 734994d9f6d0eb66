// The dialog that pushes a job.
import { formDialog } from './dialog.js';
import { get, post } from './api.js';
import { bytesOf, encodeName, nameText } from './format.js';
import { link } from './element.js';
import { address, go } from './router.js';
import { notify } from './notice.js';

const OPTIONS = ['id', 'delay', 'priority', 'group', 'after'];
const READERS = { priority: Number, after: (text) => text.trim().split(/\s+/) };

// Pushes to a topic (encoded), or asks for one. `done` is called after it.
export async function pushJob(topic, done) {
  const fields = [
    topic === null ? { name: 'topic', label: 'Topic', required: true, hint: 'It begins with its first job.' } : null,
    { name: 'body', label: 'Body', rows: 6, hint: 'What the job is: any text, often JSON.' },
    { name: 'id', label: 'Id', hint: 'Empty: the server gives one. No other job of the topic may have it.' },
    { name: 'delay', label: 'Delay', hint: 'As 30s, 5m, 2h or 7d. Empty: it is due now.' },
    { name: 'priority', label: 'Priority', type: 'number', hint: '0 to 255, 0 is the most urgent; 128 if empty.' },
    { name: 'group', label: 'Group', hint: 'Jobs that share a limit or an order; may be empty.' },
    { name: 'after', label: 'After', hint: 'Ids, or topic:id, with spaces between them: it waits until these jobs are done.' },
  ].filter(Boolean);
  let target = topic;
  const reply = await formDialog({ title: 'Push a job', fields, action: 'Push', run: (values) => {
    target = topic ?? encodeName(values.topic);
    const body = { body: values.body };
    for (const name of OPTIONS)
      if (values[name].trim() !== '')
        body[name] = READERS[name]?.(values[name]) ?? values[name];
    return post(`/v1/topics/${target}/jobs`, body);
  } });
  if (!reply)
    return;
  const href = address(['topics', target, 'jobs', encodeName(reply.id)]);
  notify(['Pushed as ', link(href, nameText(reply.id)), '.']);
  if (done)
    done(reply);
  else if (topic === null)
    go(address(['topics', target]));
}

// Is a push all that it takes to have the job again? Not when it was tried: its attempts and errors would be lost. Of what
// it waits for each must have a name.
export const canPushAgain = (job) => job.attempt === 0 && !job.attempts.length && job.error === null && bytesOf(job.body).length < 190000
  && (job.state !== 'waiting' || (job.awaits === job.after.length && job.after.every(([topic, id]) => topic !== null && id !== null)));

const JITTER = 20; // unless another one is said

function backoffWords(job) {
  if (job.steps?.length)
    return `steps ${job.steps.join(' ')}`;
  if (job.backoff === job['backoff-max'] && job.jitter === 0)
    return `fixed ${job.backoff}`;
  return `exp ${job.backoff} ${job['backoff-max']}${job.jitter === JITTER ? '' : ` jitter ${job.jitter}`}`;
}

// Without those that the topic has, too: the job would keep them when the topic gets others.
async function ownOptions(options, topic, shared) {
  shared.settings ??= get(`/v1/topics/${topic}/settings`).catch(() => ({})); // its reading may be forbidden
  const settings = await shared.settings;
  return Object.fromEntries(Object.entries(options).filter(([name, value]) => String(value) !== settings[name]?.value));
}

// Pushes what a job was, after it was cancelled: with its id, body, options and due time, or what it waits for. `shared` is an
// object for all jobs of the topic that are pushed again together.
export async function pushAgain(topic, job, shared) {
  const given = { lease: job.lease, retries: job.retries, crashes: job.crashes, backoff: backoffWords(job) };
  if (job.ttl)
    given.ttl = job.ttl;
  const options = { id: job.id, priority: job.priority, ...await ownOptions(given, topic, shared) };
  if (job.state === 'waiting')
    Object.assign(options, { 'on-dead': job['on-dead'], after: job.after.map(([of, id]) => wholeName(of, id)) });
  else
    options.at = job.due;
  if (job.window)
    options.window = job.window;
  if (job.group !== null)
    Object.assign(options, { group: job.group, weight: job.weight ?? 1 });
  return post(`/v1/topics/${topic}/jobs`, { body: job.body, ...options });
}

// "topic:id", of any bytes.
function wholeName(topic, id) {
  const name = [...bytesOf(topic), 58, ...bytesOf(id)];
  return { base64: btoa(String.fromCharCode(...name)) };
}
