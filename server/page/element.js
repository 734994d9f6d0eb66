// Elements of the page. Text comes in as text nodes only: what a job says is never read as HTML.

const SVG = 'http://www.w3.org/2000/svg';

function setProperty(element, name, value) {
  if (value === null || value === undefined || value === false)
    return;
  if (name.startsWith('on'))
    element.addEventListener(name.slice(2), value);
  else if (name === 'style')
    for (const [key, text] of Object.entries(value))
      element.style.setProperty(key, text);
  else if (name === 'value')
    element.value = value;
  else
    element.setAttribute(name, value === true ? '' : String(value));
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {}))
    if (name !== 'value')
      setProperty(element, name, value);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  if (properties && 'value' in properties)
    setProperty(element, 'value', properties.value); // a select takes it once it has its options
  return element;
}

// An element with properties and children; a child is an element, a text or a list; null is left out.
export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
export const svg = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

let count = 0;
export const newId = (prefix) => `${prefix}-${++count}`;

// Says a text to those who cannot see what has changed.
export function say(text) {
  document.getElementById('said').textContent = text;
}

const ICONS = {
  delayed: 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M8 5.5V8l1.8 1.2',
  ready: 'M5.5 4.5l5 3.5-5 3.5z',
  claimed: 'M8 3v2M8 11v2M3 8h2M11 8h2M4.5 4.5l1.4 1.4M10.1 10.1l1.4 1.4M11.5 4.5l-1.4 1.4M5.9 10.1l-1.4 1.4',
  dead: 'M4.5 4.5l7 7M11.5 4.5l-7 7',
  done: 'M3.5 8.5l3 3 6-7',
  waiting: 'M5 3.5h6M5 12.5h6M5.5 3.5c0 3 5 3.5 5 9M10.5 3.5c0 3-5 3.5-5 9',
  paused: 'M6 4v8M10 4v8',
  limited: 'M3 12a5 5 0 1 1 10 0M8 12l2.5-3.5',
};

export const icon = (name) => svg('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' },
  svg('path', { d: ICONS[name] }));

// A state in a symbol, a word and a colour: any one of them is enough.
export const stateTag = (state) => h('span', { class: `tag is-${state}` }, ICONS[state] ? icon(state) : null, state);

export const link = (href, ...children) => h('a', { href }, ...children);
export const button = (text, onclick, kind) => h('button', { type: 'button', class: kind, onclick }, text);

// A table with its caption and the scope of its heads. A column: {name, head?, cell(row), number?, rowHead?}.
export function table(caption, columns, rows, options = {}) {
  const body = h('tbody', null, rows.map((row) => tableRow(columns, row, options)));
  const heads = columns.map((column) => h('th', { scope: 'col', class: columnClass(column), 'aria-sort': column.sort },
    column.head ?? column.name));
  const element = h('table', { class: options.class },
    h('caption', { class: options.showCaption ? null : 'unseen' }, caption),
    h('thead', null, h('tr', null, heads)), body);
  return h('div', { class: 'table', role: 'group', 'aria-label': caption, tabindex: '0' }, element);
}

const columnClass = (column) => [column.number ? 'number' : '', column.wide ? 'wide' : '', column.minor ? 'minor' : '']
  .filter(Boolean).join(' ') || null;

function tableRow(columns, row, options) {
  return h('tr', options.row ? options.row(row) : null, columns.map((column) => {
    const properties = { class: columnClass(column), 'data-label': column.name };
    return column.rowHead ? h('th', { scope: 'row', ...properties }, column.cell(row)) : h('td', properties, column.cell(row));
  }));
}

// What stands where there is nothing: what that means, and what to do next.
export const empty = (title, ...what) => h('div', { class: 'empty' }, h('p', { class: 'empty-title' }, title),
  what.length ? h('p', null, ...what) : null);

export const code = (text) => h('code', null, text);
export const section = (title, ...children) => {
  const id = newId('section');
  return h('section', { class: 'panel', 'aria-labelledby': id }, h('h2', { id }, title), ...children);
};

// Names and values.
export const facts = (pairs, kind) => h('dl', { class: `facts ${kind ?? ''}` }, pairs.filter(Boolean).map(([name, value]) =>
  h('div', null, h('dt', null, name), h('dd', null, value))));
