// The server in figures, its connections, its slow log.
import { h, code, empty, facts, replace, section, table } from './element.js';
import { can, get } from './api.js';
import { bytes, duration, moment, nameText, number, rate, setServerTime } from './format.js';
import { complain, showFailure } from './notice.js';
import { historyPart } from './history.js';
import { atMostEach, listen } from './live.js';

const micros = (value) => duration(value / 1000);

// Groups of figures: what the server says under a name, how it is called here, how it is written.
const GROUPS = [
  ['Process', null, [['version', 'Version', String], ['uptime_ms', 'Up for', duration], ['health', 'Health', String]]],
  ['Memory', 'memory', [['own_bytes', 'Own', bytes], ['resident_bytes', 'Resident', bytes], ['peak_bytes', 'Peak', bytes], ['memtables_bytes', 'Memtables', bytes],
    ['clients_bytes', 'Clients', bytes], ['filters_bytes', 'Filters', bytes]]],
  ['Journal', 'journal', [['bytes', 'Size', bytes], ['segments', 'Segments', number], ['written_bytes', 'Written', bytes], ['syncs', 'Syncs', number],
    ['sync_usec_mean', 'Mean sync', micros], ['sync_usec_max', 'Longest sync', micros]]],
  ['Checkpoints', 'checkpoint', [['running', 'Now', (value) => value ? 'one is running' : 'none is running'], ['count', 'So far', number], ['failures', 'Failed', number],
    ['last_usec', 'The last one took', micros], ['last_save', 'The last one', moment], ['pressure', 'Pressure', (value) => `${Math.round(value / 10)} %`]]],
  ['Disk', 'disk', [['free_bytes', 'Free', bytes], ['reserve_bytes', 'Reserve', bytes], ['data_file_bytes', 'Data file', bytes], ['map_used_bytes', 'Map used', bytes], ['map_bytes', 'Map', bytes]]],
  ['Clients', 'connections', [['now', 'Now', number], ['max', 'At most', number], ['blocked', 'Waiting', number], ['received', 'So far', number], ['rejected', 'Rejected', number],
    ['streams', 'Live pages', number]]],
  ['Turns', 'turns', [['longest_usec', 'Longest', micros], ['longest_part', 'Spent in', String], ['longest_command', 'Command', String], ['long', 'Long ones', number]]],
  ['Jobs', 'jobs', [['topics', 'Topics', number], ['ready', 'Ready', number], ['delayed', 'Delayed', number], ['claimed', 'Claimed', number], ['dead', 'Dead', number], ['waiting', 'Waiting', number], ['done', 'Done', number]]],
];
const STRIP = [['rates', 'pushed', 'Pushed', rate], ['rates', 'acked', 'Acknowledged', rate], ['memory', 'own_bytes', 'Memory', bytes], ['journal', 'bytes', 'Journal', bytes],
  ['checkpoint', 'last_save', 'Last checkpoint', moment], ['disk', 'free_bytes', 'Disk free', bytes], ['connections', 'now', 'Connections', number], ['turns', 'longest_usec', 'Longest turn', micros]];

const isKnown = (value) => value !== null && value !== undefined;
const namesOf = (group, figures) => figures.filter(([key]) => isKnown(group?.[key])).map(([key, text, format]) => [text, format(group[key])]);

const TROUBLES = { loading: 'The server is still reading its store.', failed: 'The store has failed: see the log of the server. Nothing is accepted.',
  full: 'The disk is full: jobs can be claimed and acknowledged, not pushed. Give it room, or purge jobs.', stopping: 'The server is stopping.' };

const trouble = (server) => TROUBLES[server.health] ? h('p', { class: 'alarm', role: 'alert' }, TROUBLES[server.health]) : null;

async function readServer(life, show) {
  const server = await get('/v1/server', null, life.signal);
  if (!life.isOver())
    show(server);
}

// The strip above the topics: load() reads it, show(server) is for what comes by itself. Who may not see it sees none.
export function serverStrip(place) {
  const show = (server) => {
    setServerTime(server.now);
    replace(place, trouble(server), facts(STRIP.filter(([group, key]) => isKnown(server[group]?.[key])).map(([group, key, text, format]) => [text, format(server[group][key])]), 'is-strip'));
  };
  return { show, load: (life) => can('info') ? readServer(life, show).catch(() => null) : null };
}

const CLIENTS = [
  { name: 'Name', rowHead: true, cell: (client) => client.name ? code(nameText(client.name)) : `#${client.id}` },
  { name: 'Address', cell: (client) => code(nameText(client.addr)) },
  { name: 'User', cell: (client) => nameText(client.user) },
  { name: 'Last command', cell: (client) => client.cmd ? code(nameText(client.cmd)) : '–' },
  { name: 'Age', number: true, cell: (client) => duration(Number(client.age) * 1000) },
  { name: 'Idle', number: true, cell: (client) => duration(Number(client.idle) * 1000) },
  { name: 'Memory', number: true, cell: (client) => bytes(Number(client['tot-mem'])) },
];

const SLOW = [
  { name: 'When', rowHead: true, cell: (entry) => moment(entry.time * 1000) },
  { name: 'Took', number: true, cell: (entry) => micros(entry.usec) },
  { name: 'Command', wide: true, cell: (entry) => h('code', { class: 'command' }, entry.command.map(nameText).join(' ')) },
  { name: 'Client', cell: (entry) => nameText(entry.name || entry.address) },
];

// A section that is read, and read again by its button.
function part(title, life, read) {
  const place = h('div', { 'aria-busy': 'true' });
  const load = async () => {
    try {
      const content = await read();
      place.removeAttribute('aria-busy');
      replace(place, content);
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver())
        showFailure(place, error, load);
    }
  };
  const again = h('button', { type: 'button', class: 'quiet', 'aria-label': `Look again: ${title}`, onclick: () => load().catch(complain) }, 'Look again');
  const element = section(title, again, place);
  element.classList.add('has-choice');
  return { element, load };
}

const figuresOf = (server) => h('div', { class: 'groups' }, GROUPS.map(([title, key, figures]) =>
  section(title, facts(namesOf(key === null ? server : server[key], figures)))));

async function readClients(life) {
  const { clients, total } = await get('/v1/clients', { limit: 250 }, life.signal);
  return [total > clients.length ? h('p', { class: 'dim' }, `${number(clients.length)} of ${number(total)} are shown`) : null, table('Connections', CLIENTS, clients, { class: 'cards' })];
}

async function readSlow(life) {
  const { entries } = await get('/v1/slowlog', { count: 100 }, life.signal);
  return entries.length ? table('Slow log', SLOW, entries, { class: 'cards' })
    : empty('Nothing was slow', 'A command that takes longer than ', code('slowlog-log-slower-than'), ' stands here.');
}

export async function showServer(main, names, query, life) {
  const figures = h('div', { 'aria-busy': 'true' });
  const show = (server) => {
    setServerTime(server.now);
    figures.removeAttribute('aria-busy');
    replace(figures, trouble(server), figuresOf(server));
  };
  const load = () => readServer(life, show).catch((error) => error.name === 'AbortError' || life.isOver() || showFailure(figures, error, load));
  const history = historyPart('/v1/history', life);
  const clients = can('client|list') ? part('Connections', life, () => readClients(life)) : null;
  const slow = can('slowlog|get') ? part('Slow log', life, () => readSlow(life)) : null;
  main.append(h('div', { class: 'head' }, h('h1', null, 'Server')), figures, history.element, clients?.element ?? '', slow?.element ?? '');
  await Promise.all([load(), history.load(), clients?.load(), slow?.load()]);
  listen({ topics: 1 }, { server: show, overview: atMostEach(5000, history.load) }, life);
}
