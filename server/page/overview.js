// All topics, a page of them at a time, and the server in figures.
import { h, button, code, empty, icon, link, replace, say, table } from './element.js';
import { can, get } from './api.js';
import { compact, duration, encodeName, moment, nameText, number, plural, rate } from './format.js';
import { address, setQuery } from './router.js';
import { atMostEach, listen } from './live.js';
import { showFailure } from './notice.js';
import { pushJob } from './push.js';
import { serverStrip } from './server.js';
import { stateAddress } from './topicbar.js';

const PAGE = 50;
const SORTS = ['name', 'ready', 'delayed', 'claimed', 'dead', 'waiting', 'in', 'out', 'oldest', 'due'];
const ASCENDING = ['name', 'due']; // what is wanted first
const ONLY = [['', 'All topics'], ['paused', 'Paused'], ['limited', 'Limited'], ['ready', 'With ready jobs'], ['delayed', 'With delayed jobs'],
  ['claimed', 'With claimed jobs'], ['dead', 'With dead jobs'], ['waiting', 'With waiting jobs']];

function flags(topic) {
  return [topic.paused ? h('span', { class: 'tag is-paused' }, icon('paused'), `paused ${topic.paused === 'all' ? '' : topic.paused}`.trim()) : null,
    topic.limited ? h('span', { class: 'tag is-limited' }, icon('limited'), 'limited') : null];
}

const topicHref = (topic, ...more) => address(['topics', encodeName(topic.name), ...more]);
const jobsHref = (topic, state) => stateAddress(encodeName(topic.name), state);

function countCell(topic, state) {
  const count = topic[state];
  return count > 0 ? h('a', { href: jobsHref(topic, state), class: `count is-${state}`, title: number(count) }, compact(count)) : h('span', { class: 'dim' }, '0');
}

function columnsOf(filter, sortBy) {
  const sorted = (sort, name) => ({ name, sort: filter.sort === sort ? (filter.order === 'desc' ? 'descending' : 'ascending') : null,
    head: h('button', { type: 'button', class: 'sort', onclick: () => sortBy(sort) }, name, h('span', { class: 'sort-mark', 'aria-hidden': 'true' },
      filter.sort === sort ? (filter.order === 'desc' ? '↓' : '↑') : '')) });
  return [
    { ...sorted('name', 'Topic'), rowHead: true, wide: true, cell: (topic) => [link(topicHref(topic), nameText(topic.name)), ' ', flags(topic)] },
    { ...sorted('ready', 'Ready'), number: true, cell: (topic) => countCell(topic, 'ready') },
    { ...sorted('delayed', 'Delayed'), number: true, cell: (topic) => countCell(topic, 'delayed') },
    { ...sorted('claimed', 'Claimed'), number: true, cell: (topic) => countCell(topic, 'claimed') },
    { ...sorted('dead', 'Dead'), number: true, cell: (topic) => countCell(topic, 'dead') },
    { ...sorted('waiting', 'Waiting'), number: true, cell: (topic) => countCell(topic, 'waiting') },
    { ...sorted('in', 'In'), number: true, cell: (topic) => rate(topic.in_rate) },
    { ...sorted('out', 'Out'), number: true, cell: (topic) => rate(topic.out_rate) },
    { ...sorted('oldest', 'Oldest ready'), number: true, cell: (topic) => topic.ready > 0 ? duration(topic.oldest_ready_ms) : '–' },
    { ...sorted('due', 'Next due'), number: true, cell: (topic) => moment(topic.next_due) },
  ];
}

function readFilter(query) {
  return { match: query.get('match') ?? '', only: ONLY.some(([key]) => key === query.get('only')) ? query.get('only') : '', sort: SORTS.includes(query.get('sort')) ? query.get('sort') : 'name',
    order: query.get('order') === 'desc' ? 'desc' : 'asc', offset: Math.max(Number(query.get('offset')) || 0, 0) };
}

// A filter without the signs of a glob finds it anywhere in the name.
const globOf = (text) => text === '' ? '' : /[*?[\]\\]/.test(text) ? text : `*${text}*`;

function pager(filter, total, turn) {
  if (total <= PAGE && filter.offset === 0)
    return null;
  const last = Math.min(filter.offset + PAGE, total);
  return h('nav', { class: 'pager', 'aria-label': 'Pages of topics' },
    h('button', { type: 'button', disabled: filter.offset === 0, onclick: () => turn(Math.max(filter.offset - PAGE, 0)) }, 'Previous'),
    h('span', null, `${number(Math.min(filter.offset + 1, total))} – ${number(last)} of ${number(total)}`),
    h('button', { type: 'button', disabled: last >= total, onclick: () => turn(filter.offset + PAGE) }, 'Next'));
}

const nothing = (filter) => filter.only ? empty('No topic is like that', 'Choose All topics beside the search to see the others.') : filter.match ? empty('No topic has such a name', 'Try a shorter part of it, or a glob as ', code('mail:*'), '.')
  : empty('There are no topics yet', 'A topic begins with its first job. Push one here, or from a shell: ', code('dueq push mail "hello"'));

export async function showOverview(main, names, query, life) {
  const filter = readFilter(query);
  const list = h('div', { 'aria-busy': 'true' });
  const server = h('div', { class: 'server-strip' });
  const search = h('input', { type: 'search', id: 'match', value: filter.match, placeholder: 'Name or glob', 'aria-label': 'Topics whose name matches', 'aria-keyshortcuts': '/' });
  const only = h('select', { id: 'only', value: filter.only, 'aria-label': 'Which topics' }, ONLY.map(([value, text]) => h('option', { value }, text)));
  const push = can('q.push') ? h('button', { type: 'button', class: 'strong', 'data-key': 'n', onclick: () => pushJob(null) }, 'Push a job') : null;
  main.append(h('div', { class: 'head' }, h('h1', null, 'Topics'), h('div', { class: 'head-end' }, search, only, push)), server, list);

  let shown = '';
  let total = -1;
  const load = async () => {
    try {
      const { match, ...rest } = filter;
      draw(await get('/v1/overview', { ...rest, match: globOf(match), limit: PAGE }, life.signal));
    } catch (error) {
      if (error.name !== 'AbortError' && !life.isOver()) {
        shown = '';
        showFailure(list, error, load);
      }
    }
  };
  const change = (changed) => {
    Object.assign(filter, changed);
    setQuery({ match: filter.match, only: filter.only, sort: filter.sort === 'name' ? '' : filter.sort, order: filter.order === 'asc' ? '' : filter.order, offset: filter.offset || '' });
    return load();
  };
  const sortBy = async (sort) => {
    await change({ sort, order: filter.sort === sort ? (filter.order === 'asc' ? 'desc' : 'asc') : ASCENDING.includes(sort) ? 'asc' : 'desc', offset: 0 });
    say(`Sorted by ${sort}, ${filter.order === 'asc' ? 'ascending' : 'descending'}`);
  };
  // What has the focus in the table has it afterwards too.
  const draw = (page) => {
    list.removeAttribute('aria-busy');
    const text = JSON.stringify([page.topics, page.total, filter]);
    if (text === shown)
      return;
    shown = text;
    const focus = focusIn(list);
    replace(list, page.topics.length ? table('Topics with their jobs by state', columnsOf(filter, sortBy), page.topics, { class: 'cards' }) : nothing(filter),
      pager(filter, page.total, (offset) => change({ offset })));
    focus();
    if (total !== page.total)
      say(plural(page.total, 'topic'));
    total = page.total;
  };
  only.addEventListener('change', () => change({ only: only.value, offset: 0 }));
  search.addEventListener('input', atMostEach(150, () => change({ match: search.value, offset: 0 })));
  const figures = serverStrip(server);
  await Promise.all([load(), figures.load(life)]);
  listen({ topics: 1 }, { again: load, overview: atMostEach(1000, load), server: figures.show }, life);
}

// Remembers which link or button of a part of the page has the focus; call what it returns after the part is made anew.
export function focusIn(part) {
  const active = document.activeElement;
  if (!part.contains(active))
    return () => {};
  const same = (element) => element.tagName === active.tagName && (active.tagName === 'A' ? element.getAttribute('href') === active.getAttribute('href')
    : element.textContent.replace(/[↑↓]/g, '') === active.textContent.replace(/[↑↓]/g, '') && element.className === active.className);
  return () => [...part.querySelectorAll(active.tagName)].find(same)?.focus({ preventScroll: true });
}
