// Requests to the server: JSON, with the token of the session for what changes something.
let session = null;
const listeners = [];

export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
    this.code = text.split(' ')[0];
  }
}

export const getSession = () => session;
export const onSignedOut = (listener) => listeners.push(listener);

// May the user run these commands, as the ACL names them? Buttons of what he may not are not shown.
export const can = (...commands) => session !== null && commands.every((command) => !session.rights.denied.includes(command));

function withQuery(path, query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== null && one !== undefined && one !== '' && one !== false)
        parameters.append(name, one);
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

async function send(method, path, options) {
  const headers = {};
  if (method !== 'GET') {
    headers['Content-Type'] = options.raw ? 'application/octet-stream' : 'application/json';
    headers['X-CSRF-Token'] = session?.csrf ?? '';
  }
  const body = method === 'GET' || method === 'DELETE' ? undefined : options.raw ?? JSON.stringify(options.body ?? {});
  try {
    return await fetch(withQuery(path, options.query), { method, headers, body, signal: options.signal, cache: 'no-store' });
  } catch (error) {
    if (error.name === 'AbortError')
      throw error;
    throw new ApiError(0, 'The server does not answer. Is it running? The page goes on when it is back.');
  }
}

async function readReply(response) {
  const text = await response.text();
  let reply = null;
  try {
    reply = text ? JSON.parse(text) : null;
  } catch { /* not the API: what it says is no JSON */ }
  if (!response.ok)
    throw new ApiError(response.status, reply?.error ?? `The server answers ${response.status}.`);
  return reply;
}

export async function request(method, path, options = {}) {
  const response = await send(method, path, options);
  if (response.status === 401 && path !== '/v1/session')
    signedOut();
  return readReply(response);
}

export const get = (path, query, signal) => request('GET', path, { query, signal });
export const post = (path, body) => request('POST', path, { body });
export const patch = (path, body) => request('PATCH', path, { body });
export const remove = (path, query) => request('DELETE', path, { query });

// The session is over: the page asks to sign in again.
export function signedOut() {
  session = null;
  listeners.forEach((listener) => listener());
}

// The session that the cookie stands for, or null: someone has to sign in.
export async function openSession() {
  try {
    session = await request('GET', '/v1/session');
  } catch (error) {
    if (error.status !== 401)
      throw error;
    session = null;
  }
  return session;
}

export async function signIn(user, password) {
  session = await request('POST', '/v1/session', { body: { user, password } });
}

export async function signOut() {
  await request('DELETE', '/v1/session');
  signedOut();
}

// A sentence for people: what went wrong, and what to do.
const ADVICE = {
  NOPERM: 'You may not do this: ask who runs the server for the right.',
  NOJOB: 'The job is gone: it was acknowledged, moved or removed meanwhile.',
  WRONGSTATE: 'The job is no longer in a state in which this can be done. Reload it to see where it is.',
  DUPLICATE: 'The topic has a job with this id. Choose another id.',
  LIMIT: 'The topic is full. Raise max-length or max-bytes in its settings, or remove jobs.',
  FULL: 'The disk of the server is full. Give it room, or purge jobs.',
  OOM: 'The memory limit of the server is reached.',
  PAUSED: 'The topic is paused and takes no jobs. Resume it first.',
  TOOBIG: 'The body is larger than the topic takes (setting max-body).',
  NOCSRF: 'The session has changed. Reload the page.',
  LOADING: 'The server is starting. Try again in a moment.',
};

export const advice = (error) => ADVICE[error.code] ?? (error instanceof ApiError
  ? error.message.replace(/^ERR /, '') : `Something went wrong in this page: ${error.message}`);

// What the page itself refuses, in the form of the server's refusals.
export const refusal = (text) => new ApiError(0, `ERR ${text}`);
