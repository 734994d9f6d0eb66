// Dialogs: <dialog> keeps the focus inside, Escape closes it, and the focus goes back to where it was.
import { h, newId, button } from './element.js';
import { advice } from './api.js';

function open(content, title, onDone) {
  const id = newId('dialog');
  const before = document.activeElement;
  const dialog = h('dialog', { 'aria-labelledby': id }, h('h2', { id }, title), content);
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (before?.isConnected)
      before.focus();
    onDone();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// fields: {name, label, type?, value?, hint?, choices?, rows?, required?}. `run` gets their values; what it throws is
// shown in the dialog, which stays open, so that nothing that was typed is lost. Resolves to what it returns, or null.
export function formDialog({ title, text, fields, action, danger, run }) {
  return new Promise((resolve) => {
    let result = null;
    const error = h('p', { class: 'error', role: 'alert' });
    const submit = h('button', { type: 'submit', class: danger ? 'danger' : 'strong' }, action);
    const form = h('form', { method: 'dialog' }, text ? h('p', { class: 'dialog-text' }, text) : null,
      (fields ?? []).map(fieldOf), error, h('div', { class: 'actions' }, button('Cancel', () => dialog.close()), submit));
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      error.textContent = '';
      submit.disabled = true;
      try {
        result = await run(valuesOf(form, fields ?? [])) ?? true;
        dialog.close();
      } catch (failed) {
        error.textContent = failed.code === 'ERR' ? failed.message.slice(4) : advice(failed);
      }
      submit.disabled = false;
    });
    const dialog = open(form, title, () => resolve(result));
    (form.querySelector('input, select, textarea') ?? (danger ? form.querySelector('button') : submit)).focus();
  });
}

function fieldOf(field) {
  const id = newId('field');
  const hint = field.hint ? h('p', { class: 'hint', id: `${id}-hint` }, field.hint) : null;
  const properties = { id, name: field.name, 'aria-describedby': hint ? hint.id : null, required: field.required,
    autocomplete: 'off', value: field.value ?? '', list: null, spellcheck: 'false' };
  let input;
  if (field.choices)
    input = h('select', properties, field.choices.map(([value, text]) => h('option', { value }, text)));
  else if (field.rows)
    input = h('textarea', { ...properties, rows: field.rows });
  else if (field.type === 'checkbox')
    return h('label', { class: 'check' }, h('input', { type: 'checkbox', name: field.name, id }), ' ', field.label);
  else
    input = h('input', { type: field.type ?? 'text', step: field.step, ...properties });
  return h('div', { class: 'field' }, h('label', { for: id }, field.label), input, hint);
}

function valuesOf(form, fields) {
  const values = {};
  for (const { name, type } of fields)
    values[name] = type === 'checkbox' ? form.elements[name].checked : form.elements[name].value;
  return values;
}

// Asks before something is done; resolves to true after it.
export const confirmDialog = (options) => formDialog({ fields: [], ...options });

// Shows something; a button closes it.
export function showDialog(title, ...content) {
  return new Promise((resolve) => {
    const close = button('Close', () => dialog.close(), 'strong');
    const dialog = open(h('div', null, ...content, h('div', { class: 'actions' }, close)), title, resolve);
    close.focus();
  });
}

// Work on many, with its progress; it can be stopped. `run(tell, signal)` is the work.
export function progressDialog(title, run) {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const bar = h('progress', { max: 1, value: 0, 'aria-label': title });
    const text = h('p', { role: 'status' }, 'Begins …');
    const content = h('div', null, bar, text, h('div', { class: 'actions' }, button('Stop', () => dialog.close())));
    const dialog = open(content, title, () => controller.abort());
    run((done, all, words) => {
      bar.max = Math.max(all, 1);
      bar.value = done;
      text.textContent = words;
    }, controller.signal).then(resolve, reject).finally(() => dialog.close());
  });
}
