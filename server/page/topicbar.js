// What all views of one topic begin with: its name, its state, where one can go within it.
import { h, icon, link } from './element.js';
import { can } from './api.js';
import { decodeName } from './format.js';
import { address } from './router.js';

const TABS = [['', 'Overview', []], ['jobs', 'Jobs', ['q.scan']], ['dead', 'Dead', ['q.dead']], ['settings', 'Settings', ['q.config|get']],
  ['workers', 'Workers', ['q.workers']], ['events', 'Events', []]];

// The jobs of a state: dead ones have a view of their own, for those who may use it.
export const stateAddress = (topic, state) => state === 'dead' && can('q.dead') ? address(['topics', topic, 'dead']) : address(['topics', topic, 'jobs'], { state });

// Returns the element of the heads and a place for buttons beside the name.
export function topicBar(topic, here) {
  const actions = h('div', { class: 'head-end' });
  const state = h('span', { class: 'topic-state' });
  const tabs = TABS.filter(([, , commands]) => can(...commands)).map(([path, text]) => h('li', null,
    h('a', { href: address(['topics', topic, path].filter(Boolean)), 'aria-current': path === here ? 'page' : null }, text)));
  const element = h('div', { class: 'topic-bar' },
    h('nav', { 'aria-label': 'Where this is', class: 'trail' }, link('#/', 'Topics'), h('span', { 'aria-hidden': 'true' }, '/')),
    h('div', { class: 'head' }, h('h1', null, decodeName(topic), h('span', { class: 'unseen' }, here ? `: ${here}` : '')), state, actions),
    h('nav', { 'aria-label': 'Topic', class: 'tabs' }, h('ul', null, tabs)));
  return { element, actions, showPause(paused) {
    state.replaceChildren(...paused ? [h('span', { class: 'tag is-paused' }, icon('paused'), paused === 'all' ? 'paused' : `paused ${paused}`)] : []);
  } };
}
