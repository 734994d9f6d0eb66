// Jobs that others wait for.
import { h, code, link, stateTag } from './element.js';
import { encodeName, nameText } from './format.js';
import { address } from './router.js';

export const ON_DEAD = { fail: 'it dies, too', run: 'it runs all the same', wait: 'it waits for the redrive' };

// [topic, id, state] of one; nulls stand for what the user may not see.
export function otherJob(topic, [of, id, state]) {
  if (of === null)
    return h('span', { class: 'other' }, 'a job that you may not see');
  const name = encodeName(of) === topic ? '' : `${nameText(of)}:`;
  return h('span', { class: 'other' }, id === null ? `${name || 'a job '}that was removed` : [
    link(address(['topics', encodeName(of), 'jobs', encodeName(id)]), code(`${name}${nameText(id)}`)), ' ', stateTag(state)]);
}
