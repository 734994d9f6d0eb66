// Rows that are chosen by their boxes, and what to do with them.
import { h, button, newId, replace } from './element.js';
import { number } from './format.js';

// items by their key; changed() is called after each change.
export function newSelection(changed) {
  const chosen = new Map();
  const boxes = new Map();
  let all = null;
  const show = () => {
    for (const [key, box] of boxes)
      box.checked = chosen.has(key);
    if (all) {
      all.checked = boxes.size > 0 && [...boxes.keys()].every((key) => chosen.has(key));
      all.indeterminate = !all.checked && chosen.size > 0;
    }
    changed();
  };
  const set = (key, item, isChosen) => isChosen ? chosen.set(key, item) : chosen.delete(key);
  return {
    items: () => [...chosen.values()],
    clear() { chosen.clear(); show(); },
    add(items) { items.forEach(([key, item]) => chosen.set(key, item)); show(); },
    forgetBoxes() { boxes.clear(); },
    box(key, item, label) {
      const box = h('input', { type: 'checkbox', 'aria-label': `Select ${label}`, onchange: () => { set(key, item, box.checked); show(); } });
      box.checked = chosen.has(key);
      if (chosen.has(key))
        chosen.set(key, item); // its state may be another one now
      boxes.set(key, box);
      box.item = item;
      return box;
    },
    headBox() {
      all = h('input', { type: 'checkbox', 'aria-label': 'Select all rows that are shown', onchange: () => {
        for (const [key, box] of boxes)
          set(key, box.item, all.checked);
        show();
      } });
      return all;
    },
  };
}

// The bar over a table: how many are chosen, and buttons for them. actions: [{text, run, danger}].
export function selectionBar(count, actions, clear) {
  if (!count || !actions.length)
    return null;
  const id = newId('chosen');
  return h('div', { class: 'selection', role: 'group', 'aria-labelledby': id }, h('span', { id, class: 'selection-count' }, `${number(count)} selected`),
    actions.map(({ text, run, danger }) => button(text, run, danger ? 'danger-text' : null)), button('Clear', clear, 'quiet'));
}

export function showBar(place, bar) {
  const label = place.contains(document.activeElement) ? document.activeElement.textContent : null;
  replace(place, bar);
  if (label)
    [...place.querySelectorAll('button')].find((one) => one.textContent === label)?.focus();
}
