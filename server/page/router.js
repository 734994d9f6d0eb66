// Addresses of views: "#/topics/mail/jobs?state=ready". Parts stay encoded: they may be any bytes.
const routes = [];
let shown = null; // what the view that is shown left to end it
let ask = 0;

export const route = (pattern, show) => routes.push({ parts: pattern.split('/').filter(Boolean), show });

export function address(parts, query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== null && value !== undefined && value !== '')
      parameters.set(name, value);
  const text = parameters.toString();
  return `#/${parts.join('/')}${text ? `?${text}` : ''}`;
}

function current() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  return { parts: path.split('/').filter(Boolean), query: new URLSearchParams(query ?? '') };
}

export const currentPath = () => `#/${current().parts.join('/')}`;

function find({ parts, query }) {
  for (const { parts: pattern, show } of routes) {
    if (pattern.length !== parts.length || !pattern.every((part, i) => part.startsWith(':') || part === parts[i]))
      continue;
    const names = {};
    pattern.forEach((part, i) => {
      if (part.startsWith(':'))
        names[part.slice(1)] = parts[i];
    });
    return { show, names, query };
  }
  return null;
}

// Changes the query of the address without a new view: what filters are set survives a reload.
export function setQuery(query) {
  history.replaceState(null, '', address(current().parts, query));
}

export const go = (href) => {
  if (location.hash === href)
    dispatchEvent(new HashChangeEvent('hashchange'));
  else
    location.hash = href;
};

// A view is show(main, names, query, life): it fills `main`, and gives life.onEnd() what ends it. After a change the
// focus is on its heading, so that a screen reader says where one is, and the keyboard goes on from there.
export function start(main, { missing, changed }) {
  const enter = async (isFirst) => {
    const found = find(current()) ?? { show: missing, names: {}, query: new URLSearchParams() };
    const mine = ++ask;
    shown?.();
    const endings = [];
    const controller = new AbortController();
    shown = () => {
      controller.abort();
      endings.forEach((end) => end());
    };
    const life = { signal: controller.signal, onEnd: (end) => endings.push(end), isOver: () => mine !== ask };
    main.replaceChildren();
    changed();
    const wait = found.show(main, found.names, found.query, life);
    if (!isFirst)
      focusHeading(main);
    await wait;
  };
  const onChange = () => enter(false);
  addEventListener('hashchange', onChange);
  enter(true);
  return () => {
    removeEventListener('hashchange', onChange);
    shown?.();
    ask += 1;
    shown = null;
  };
}

function focusHeading(main) {
  const heading = main.querySelector('h1');
  if (heading) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  } else {
    main.focus({ preventScroll: true });
  }
  scrollTo(0, 0);
}
