// The dialog that pushes a job.
import { formDialog } from './dialog.js';
import { post } from './api.js';
import { encodeName, nameText } from './format.js';
import { link } from './element.js';
import { address, go } from './router.js';
import { notify } from './notice.js';

const OPTIONS = ['id', 'delay', 'priority', 'group'];

// Pushes to a topic (encoded), or asks for one. `done` is called after it.
export async function pushJob(topic, done) {
  const fields = [
    topic === null ? { name: 'topic', label: 'Topic', required: true, hint: 'It begins with its first job.' } : null,
    { name: 'body', label: 'Body', rows: 6, hint: 'What the job is: any text, often JSON.' },
    { name: 'id', label: 'Id', hint: 'Empty: the server gives one. No other job of the topic may have it.' },
    { name: 'delay', label: 'Delay', hint: 'As 30s, 5m, 2h or 7d. Empty: it is due now.' },
    { name: 'priority', label: 'Priority', type: 'number', hint: '0 to 255, 0 is the most urgent; 128 if empty.' },
    { name: 'group', label: 'Group', hint: 'Jobs that share a limit or an order; may be empty.' },
  ].filter(Boolean);
  let target = topic;
  const reply = await formDialog({ title: 'Push a job', fields, action: 'Push', run: (values) => {
    target = topic ?? encodeName(values.topic);
    const body = { body: values.body };
    for (const name of OPTIONS)
      if (values[name] !== '')
        body[name] = name === 'priority' ? Number(values[name]) : values[name];
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

// Pushes what a job was, after it was cancelled: with its id, body, options and due time.
export function pushAgain(topic, job) {
  const options = { id: job.id, at: job.due, priority: job.priority, lease: job.lease, retries: job.retries, crashes: job.crashes };
  if (job.ttl)
    options.ttl = job.ttl;
  if (job.group !== null)
    Object.assign(options, { group: job.group, weight: job.weight ?? 1 });
  return post(`/v1/topics/${topic}/jobs`, { body: job.body, ...options });
}
