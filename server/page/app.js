// The page: who is signed in, where one can go, which keys there are.
import { h, link, button, replace } from './element.js';
import { can, getSession, onSignedOut, openSession, signOut } from './api.js';
import { currentPath, go, route, start } from './router.js';
import { refreshDistances } from './format.js';
import { complain, failure } from './notice.js';
import { showDialog } from './dialog.js';
import { showLogin } from './login.js';
import { showOverview } from './overview.js';
import { showTopic } from './topic.js';
import { showSettings } from './settings.js';
import { showJobs } from './jobs.js';
import { showJob } from './job.js';
import { showDead } from './dead.js';
import { showWorkers } from './workers.js';
import { showCron } from './cron.js';
import { showAllEvents, showEvents } from './events.js';
import { showServer } from './server.js';

const PLACES = [
  { href: '#/', text: 'Topics', key: 't', commands: [] },
  { href: '#/cron', text: 'Recurring', key: 'r', commands: ['q.cron|list'] },
  { href: '#/workers', text: 'Workers', key: 'w', commands: ['q.workers'] },
  { href: '#/events', text: 'Events', key: 'e', commands: [] },
  { href: '#/server', text: 'Server', key: 's', commands: ['info'] },
];

const main = document.getElementById('main');
let stop = null;

function showPlaces() {
  document.querySelector('dialog')?.close(); // it was about the view before
  const path = currentPath();
  const isHere = ({ href }) => href === '#/' ? path === '#/' || path.startsWith('#/topics') : path.startsWith(href);
  replace(document.getElementById('nav'), h('ul', null, PLACES.filter(({ commands }) => can(...commands)).map((place) =>
    h('li', null, h('a', { href: place.href, 'aria-current': isHere(place) ? 'page' : null }, place.text)))));
}

function showAccount() {
  const { user, rights, passwordless } = getSession();
  const out = button('Sign out', () => signOut().catch(complain), 'quiet');
  replace(document.getElementById('account'), passwordless && user === 'default' ? null : h('span', { class: 'user' }, user),
    rights.write ? null : h('span', { class: 'tag' }, 'read only'), passwordless ? null : out);
}

function showMissing(place) {
  place.append(h('h1', null, 'There is no such page'), h('p', null, 'The address may be mistyped. ', link('#/', 'See all topics'), '.'));
}

function showBar(isSignedIn) {
  for (const id of ['nav', 'bar-end'])
    document.getElementById(id).hidden = !isSignedIn;
}

function enter() {
  showBar(true);
  showAccount();
  stop = start(main, { missing: showMissing, changed: showPlaces });
}

// After the end of a session: one that asks for no password is opened again, else somebody signs in.
async function leave() {
  const isOpen = await openSession().catch(() => null);
  stop?.();
  stop = null;
  if (isOpen) {
    enter();
    return;
  }
  showBar(false);
  document.querySelector('dialog')?.close();
  main.replaceChildren();
  showLogin(main, enter);
}

const KEYS = [
  ['g then t, r, w, e, s', 'Go to topics, recurring jobs, workers, events, server'],
  ['/', 'Go to the search of this view'],
  ['n', 'Push a job, on a topic'],
  ['j, k', 'Next and previous row of a table'],
  ['Enter, Space', 'Open the row, select it'],
  ['← →', 'Go along the times of a chart that has the focus'],
  ['Esc', 'Close a dialog'],
  ['?', 'These keys'],
];

const showKeys = () => showDialog('Keys', h('dl', { class: 'keys' }, KEYS.map(([key, text]) =>
  h('div', null, h('dt', null, h('kbd', null, key)), h('dd', null, text)))));

// The next row whose link takes the focus.
function moveRow(step) {
  const rows = [...main.querySelectorAll('tbody tr')].filter((row) => row.querySelector('a'));
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)];
  row?.querySelector('a').focus();
}

let isGoing = false; // g was pressed

function onKey(event) {
  const isTyping = event.target.closest('input, textarea, select, [contenteditable]');
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]') || !getSession())
    return;
  const place = isGoing && PLACES.find(({ key }) => key === event.key);
  isGoing = event.key === 'g' && !isGoing;
  const acts = { '?': showKeys, '/': () => main.querySelector('[type=search]')?.focus(), j: () => moveRow(1), k: () => moveRow(-1),
    n: () => main.querySelector('[data-key=n]')?.click() };
  const act = place ? () => go(place.href) : Object.hasOwn(acts, event.key) ? acts[event.key] : null;
  if (act) {
    event.preventDefault();
    act();
  }
}

function addRoutes() {
  route('', showOverview);
  route('topics/:topic', showTopic);
  route('topics/:topic/jobs', showJobs);
  route('topics/:topic/jobs/:id', showJob);
  route('topics/:topic/dead', showDead);
  route('topics/:topic/settings', showSettings);
  route('topics/:topic/events', showEvents);
  route('topics/:topic/workers', showWorkers);
  route('workers', showWorkers);
  route('cron', showCron);
  route('events', showAllEvents);
  route('server', showServer);
}

async function begin() {
  addRoutes();
  document.addEventListener('keydown', onKey);
  document.getElementById('help').addEventListener('click', showKeys);
  const skip = document.getElementById('skip');
  skip.hidden = false;
  skip.addEventListener('click', (event) => {
    event.preventDefault(); // the address is that of the view
    main.focus();
  });
  setInterval(() => document.hidden || refreshDistances(main), 1000);
  onSignedOut(leave);
  try {
    if (await openSession())
      enter();
    else
      await leave();
  } catch (error) {
    main.replaceChildren(failure(error, () => location.reload()));
  }
}

begin();
