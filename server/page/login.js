// Who are you? The users are those of the server.
import { h } from './element.js';
import { signIn } from './api.js';

const wrong = (error) => error.status === 401 ? 'The name or the password is wrong.'
  : error.status === 429 ? 'Too many wrong passwords came from this address. Wait a minute, then try again.' : error.message;

export function showLogin(main, done) {
  const error = h('p', { class: 'error', role: 'alert' });
  const user = h('input', { id: 'user', name: 'user', autocomplete: 'username', value: 'default', required: true, spellcheck: 'false', autocapitalize: 'none' });
  const password = h('input', { id: 'password', name: 'password', type: 'password', autocomplete: 'current-password' });
  const submit = h('button', { type: 'submit', class: 'strong' }, 'Sign in');
  const form = h('form', { class: 'login panel' }, h('h1', null, 'Sign in to dueq'),
    h('div', { class: 'field' }, h('label', { for: 'user' }, 'User'), user),
    h('div', { class: 'field' }, h('label', { for: 'password' }, 'Password'), password),
    error, submit, h('p', { class: 'hint' }, 'The users of the server. With requirepass the user is “default”.'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    submit.disabled = true;
    error.textContent = '';
    try {
      await signIn(user.value, password.value);
      done();
    } catch (failed) {
      error.textContent = wrong(failed);
      password.value = '';
      password.focus();
    }
    submit.disabled = false;
  });
  main.replaceChildren(form);
  password.focus();
}
