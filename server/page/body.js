// What a job carries: as text, as JSON that folds, as hex. It is any bytes, and never more than text nodes.
import { h, newId, replace } from './element.js';
import { bytes, bytesOf } from './format.js';

const SHOWN = 256 * 1024; // of a body, in one view
const FOLD_DEPTH = 2;
const FOLD_SHOWN = 500; // members that are made at once

function textOf(value) {
  if (typeof value === 'string')
    return value;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(value));
  } catch {
    return null;
  }
}

function jsonOf(text) {
  if (text === null || text.length > 4 * SHOWN || !/^\s*[[{]/.test(text))
    return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function leaf(value) {
  const kind = value === null ? 'null' : typeof value;
  return h('span', { class: `json-${kind}` }, JSON.stringify(value));
}

function folded(key, value, depth) {
  const name = key === null ? null : h('span', { class: 'json-key' }, `${key}: `);
  if (value === null || typeof value !== 'object')
    return h('div', { class: 'json-row' }, name, leaf(value));
  const entries = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (!entries.length)
    return h('div', { class: 'json-row' }, name, open, close);
  const place = h('div', { class: 'json-inside' });
  const details = h('details', { open: depth < FOLD_DEPTH },
    h('summary', null, name, open, h('span', { class: 'dim' }, ` ${entries.length} ${entries.length === 1 ? 'entry' : 'entries'} `), close), place);
  const make = () => {
    if (details.open && !place.childNodes.length)
      replace(place, entries.slice(0, FOLD_SHOWN).map(([inner, one]) => folded(Array.isArray(value) ? null : inner, one, depth + 1)),
        entries.length > FOLD_SHOWN ? h('p', { class: 'hint' }, `${entries.length - FOLD_SHOWN} more: see the text`) : null);
  };
  details.addEventListener('toggle', make);
  make();
  return details;
}

function hexOf(raw) {
  const lines = [];
  const count = Math.min(raw.length, SHOWN / 8);
  for (let at = 0; at < count; at += 16) {
    const row = raw.subarray(at, at + 16);
    const hex = Array.from(row, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = Array.from(row, (byte) => byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·').join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join('\n');
}

const cut = (text) => text.length > SHOWN ? `${text.slice(0, SHOWN)}\n… ${bytes(text.length - SHOWN)} more` : text;

// An element with the ways to see a value; the best one is open. The tabs are radio buttons: the arrow keys choose.
export function bodyView(value, name) {
  const raw = bytesOf(value);
  const text = textOf(value);
  const json = jsonOf(text);
  const place = h('div', { class: 'body-text', tabindex: '0', role: 'group', 'aria-label': name });
  const ways = [
    json === undefined ? null : ['JSON', () => h('div', { class: 'json' }, folded(null, json, 0))],
    text === null ? null : ['Text', () => h('pre', null, raw.length ? cut(text) : ' ')],
    ['Hex', () => h('pre', null, hexOf(raw), raw.length > SHOWN / 8 ? `\n… ${bytes(raw.length - SHOWN / 8)} more` : '')],
  ].filter(Boolean);
  const group = newId('body');
  const choices = ways.map(([way, make], i) => h('label', { class: 'segment' }, h('input', { type: 'radio', name: group, checked: i === 0,
    onchange: () => replace(place, make()) }), h('span', null, way)));
  replace(place, raw.length ? ways[0][1]() : h('p', { class: 'dim' }, 'It is empty.'));
  return h('div', { class: 'body-view' }, h('div', { class: 'body-head' }, h('fieldset', { class: 'segments' }, h('legend', { class: 'unseen' }, `Show the ${name} as`), choices),
    h('span', { class: 'dim' }, bytes(raw.length))), place);
}
