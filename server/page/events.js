// What happens to jobs, as it happens; and what a topic has kept of it.
import { h, button, code, empty, link, replace, say, section, table } from './element.js';
import { can, get } from './api.js';
import { clock, decodeName, encodeName, local, nameText, number } from './format.js';
import { address } from './router.js';
import { listen } from './live.js';
import { failure } from './notice.js';
import { topicBar } from './topicbar.js';

const SHOWN = 200; // of each list

const MEANINGS = { pushed: 'pushed', claimed: 'claimed', acked: 'acknowledged', nacked: 'given back', dead: 'died', expired: 'lease ran out', cancelled: 'cancelled',
  rescheduled: 'rescheduled', redriven: 'redriven', lapsed: 'TTL over', due: 'fell due' };

const wordOf = (event) => MEANINGS[event] ?? event;
const jobLink = (topic, id) => link(address(['topics', topic, 'jobs', encodeName(id)]), code(nameText(id)));

function eventRow(topic, { at: time, event, id, topic: of }) {
  return h('tr', null, h('td', null, h('time', { datetime: new Date(time).toISOString(), title: local(time, true) }, clock(time, true))),
    h('td', null, h('span', { class: `tag is-${event}` }, wordOf(event))), topic ? null : h('td', null, link(address(['topics', encodeName(of)]), nameText(of))),
    h('th', { scope: 'row', class: 'wide' }, jobLink(topic ?? encodeName(of), id)));
}

// The list of what happens, in a topic or, with null, in all of them: new ones come on top, a frame's worth at a time, so that thousands a second do no harm.
function stream(topic, life) {
  const body = h('tbody');
  const count = h('p', { class: 'dim' }, 'Waiting for the first event …'); // no status: it would be read out four times a second
  const waiting = [];
  let total = 0;
  let isPaused = false;
  let isDrawing = false;
  const draw = () => {
    isDrawing = false;
    body.prepend(...waiting.splice(0).slice(-SHOWN).reverse().map((event) => eventRow(topic, event)));
    while (body.rows.length > SHOWN)
      body.lastElementChild.remove();
    count.textContent = `${number(total)} since this view was opened; the last ${number(body.rows.length)} are shown.`;
  };
  const add = ({ events, skipped }) => {
    total += events.length + skipped;
    waiting.push(...events);
    waiting.splice(0, Math.max(waiting.length - SHOWN, 0));
    if (!isDrawing && !isPaused) {
      isDrawing = true;
      setTimeout(draw, 250);
    }
  };
  const refused = ({ error }) => {
    count.textContent = `You may not see them: ${error}`;
    say(count.textContent);
  };
  const hold = button('Hold', () => {
    isPaused = !isPaused;
    hold.textContent = isPaused ? 'Go on' : 'Hold';
    say(isPaused ? 'The list is held' : 'The list goes on');
    if (!isPaused)
      draw();
  });
  listen({ events: 1, ...topic && { topic: decodeName(topic) } }, { events: add, refused }, life);
  const heads = ['Time', 'Event', topic ? null : 'Topic', 'Job'].filter(Boolean).map((text) => h('th', { scope: 'col' }, text));
  const element = h('div', { class: 'stack' }, count, h('div', { class: 'table', role: 'group', tabindex: '0', 'aria-label': 'Events as they happen' },
    h('table', { class: 'events' }, h('caption', { class: 'unseen' }, 'Events as they happen, the last one first'), h('thead', null, h('tr', null, heads)), body)));
  return { element, hold };
}

const keptTable = (topic, events) => table(`Kept events of ${decodeName(topic)}`, [
  { name: 'Number', number: true, cell: ([at]) => number(at) },
  { name: 'Event', cell: ([, event]) => h('span', { class: `tag is-${event}` }, wordOf(event)) },
  { name: 'Time', cell: ([, event, time]) => event === 'dropped' ? '–' : local(time, true) },
  { name: 'Job', rowHead: true, wide: true, cell: ([, event, time, id]) => event === 'dropped' ? `${number(time)} are not kept any more` : jobLink(topic, id) },
  { name: 'Claims', number: true, cell: ([, , , , attempt]) => number(attempt) },
], events);

// The last of them. The server gives those after a number, the oldest first: the last number is found by halving.
async function readKept(topic, signal) {
  const read = async (from, count) => (await get(`/v1/topics/${topic}/events`, { from, count }, signal)).events;
  const first = await read(0, SHOWN + 1);
  if (first.length <= SHOWN)
    return first;
  let last = first.at(-1).number;
  const goOn = async (span) => {
    const [found] = await read(last + span, 1);
    last = found?.number ?? last;
    return found !== undefined;
  };
  let span = SHOWN;
  while (await goOn(span))
    span *= 2;
  for (; span >= 1; span = Math.floor(span / 2))
    await goOn(span);
  return read(last - SHOWN - 1, SHOWN + 1);
}

async function keptPart(topic, life) {
  const place = h('div');
  const load = async () => {
    try {
      const events = await readKept(topic, life.signal);
      replace(place, events.length > SHOWN ? h('p', { class: 'dim' }, `The last ${number(SHOWN)}`) : null, events.length ? keptTable(topic, events.slice(-SHOWN).reverse().map((event) => Array.isArray(event) ? event
        : [event.number, event.event, event.time ?? event.count, event.id, event.attempt])) : empty('No event is kept yet'));
    } catch (error) {
      if (error.name !== 'AbortError')
        replace(place, /keeps no events/.test(error.message) ? empty('The topic keeps no events', 'Its setting ', code('events'), ' says how many of its last ones it keeps.') : failure(error, load));
    }
  };
  await load();
  return h('section', { class: 'panel', 'aria-label': 'Kept events' }, h('div', { class: 'head' }, h('h2', null, 'Kept events'), h('div', { class: 'head-end' }, button('Look again', load, 'quiet'))), place);
}

export async function showEvents(main, { topic }, query, life) {
  const bar = topicBar(topic, 'events');
  const { element, hold } = stream(topic, life);
  bar.actions.append(hold);
  main.append(bar.element, section('As they happen', element));
  if (can('q.events'))
    main.append(await keptPart(topic, life));
}

export async function showAllEvents(main, names, query, life) {
  const { element, hold } = stream(null, life);
  main.append(h('div', { class: 'head' }, h('h1', null, 'Events'), h('div', { class: 'head-end' }, hold)),
    h('p', { class: 'lead' }, 'What happens to the jobs of all topics that you may read, as it happens.'), section('As they happen', element));
}
