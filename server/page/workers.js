// Who holds jobs: of a topic, or of all.
import { h, button, code, empty, replace, table } from './element.js';
import { can, get, post } from './api.js';
import { decodeName, duration, encodeName, moment, nameText, nameValue, number } from './format.js';
import { atMostEach, listen, whenChanged } from './live.js';
import { confirmDialog } from './dialog.js';
import { complain, showFailure } from './notice.js';
import { topicBar } from './topicbar.js';

// Ends the leases of a worker that is lost, of a topic or of all.
async function release(worker, topic, done) {
  const isSure = await confirmDialog({ title: `Release ${nameText(worker.name)}`, danger: true, action: 'End its leases',
    text: `What it holds${topic ? ` of ${decodeName(topic)}` : ''}, ${number(worker.held)} now, is ready again for others, and counts as a crash. Do this when the worker is lost.`,
    run: () => post(`/v1/workers/${encodeName(worker.name)}/release`, topic ? { topic: nameValue(topic) } : {}) });
  if (isSure)
    done();
}

const columnsOf = (topic, done) => [
  { name: 'Worker', rowHead: true, wide: true, cell: (worker) => code(nameText(worker.name)) },
  { name: 'Holds', number: true, cell: (worker) => number(worker.held) },
  { name: 'Oldest claim', number: true, cell: (worker) => duration(worker['oldest-lease']) },
  { name: 'Claims per minute', number: true, cell: (worker) => number(worker.rate) },
  { name: 'Connections', number: true, cell: (worker) => number(worker.connections) },
  { name: 'Last seen', cell: (worker) => moment(worker['last-seen']) },
  { name: 'Address', cell: (worker) => worker.address === null ? '–' : code(nameText(worker.address)) },
  can('q.release') ? { name: 'Actions', head: h('span', { class: 'unseen' }, 'Actions'), cell: (worker) => worker.held > 0 ? h('span', { class: 'row-actions' },
    h('button', { type: 'button', class: 'danger-text', 'aria-label': `Release ${nameText(worker.name)}`, onclick: () => release(worker, topic, done).catch(complain) }, 'Release')) : '' } : null,
].filter(Boolean);

const nothing = () => empty('No worker has a name', 'A worker is known by its name: claim with ', code('WORKER alice'), ', or run ', code('dueq work mail -- ./send-mail'), '.');

export async function showWorkers(main, { topic }, query, life) {
  const list = h('div', { 'aria-busy': 'true' });
  const path = topic ? `/v1/topics/${topic}/workers` : '/v1/workers';
  let shown = '';
  const load = async () => {
    try {
      const { workers } = await get(path, null, life.signal);
      list.removeAttribute('aria-busy');
      const text = JSON.stringify(workers);
      if (text !== shown)
        replace(list, workers.length ? table(topic ? `Workers of ${decodeName(topic)}` : 'Workers', columnsOf(topic, load), workers, { class: 'cards' }) : nothing());
      shown = text;
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver()) {
        shown = '';
        showFailure(list, error, load);
      }
    }
  };
  const again = button('Look again', load);
  if (topic) {
    const bar = topicBar(topic, 'workers');
    bar.actions.append(again);
    main.append(bar.element, list);
  } else {
    main.append(h('div', { class: 'head' }, h('h1', null, 'Workers'), h('div', { class: 'head-end' }, again)), list);
  }
  await load();
  if (can('q.workers'))
    listen(topic ? { topic: decodeName(topic) } : { topics: 1 }, { again: load, topic: whenChanged(atMostEach(3000, load)), overview: atMostEach(3000, load) }, life);
}
