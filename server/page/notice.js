// Short messages on the edge of the page. One with an action stays until the next one comes or it is closed.
import { h, button } from './element.js';
import { advice } from './api.js';

let timer = null;

export function notify(text, action) {
  const place = document.getElementById('notices');
  clearTimeout(timer);
  const close = button('Close', () => place.replaceChildren(), 'quiet');
  const act = action && button(action.text, async () => {
    place.replaceChildren();
    try {
      await action.run();
    } catch (error) {
      complain(error);
    }
  }, 'strong');
  place.replaceChildren(h('div', { class: 'notice' }, h('p', null, text), act ?? null, close));
  if (!action)
    timer = setTimeout(() => place.replaceChildren(), 8000);
}

export function complain(error) {
  if (error.name === 'AbortError')
    return;
  const place = document.getElementById('notices');
  clearTimeout(timer);
  place.replaceChildren(h('div', { class: 'notice is-bad' }, h('p', null, h('strong', null, 'Not done. '), advice(error)),
    button('Close', () => place.replaceChildren(), 'quiet')));
}

// Puts it in the place of what could not be read.
export function showFailure(place, error, again) {
  place.removeAttribute('aria-busy');
  place.replaceChildren(failure(error, again));
}

// What stands in the place of a view, or of a part of it, that could not be read. What was refused is refused again.
export const failure = (error, again) => h('div', { class: 'empty is-bad', role: 'alert' },
  h('p', { class: 'empty-title' }, 'This could not be read'), h('p', null, advice(error)),
  again && error.code !== 'NOPERM' ? button('Try again', again) : null);
