// What the server tells by itself: server-sent events. The browser connects again when it is cut off.
import { openSession, signedOut } from './api.js';

const WORDS = { on: 'Live', off: 'Reconnecting …', none: '' };

function showState(state) {
  const place = document.getElementById('live');
  place.textContent = WORDS[state];
  place.className = `live is-${state}`;
}

// on: functions by the name of the event; `again` is called after a gap. Ends with the view.
export function listen(query, on, life) {
  let source = null;
  let timer = null;
  let wasOff = false;
  const again = () => {
    source.close();
    wasOff = true;
    showState('off');
    clearTimeout(timer);
    timer = setTimeout(check, 2000);
  };
  const check = async () => {
    const session = await openSession().catch(() => undefined);
    if (life.isOver())
      return;
    if (session === null)
      signedOut();
    else if (session === undefined)
      again();
    else
      connect();
  };
  const connect = () => {
    source = new EventSource(`/v1/live?${new URLSearchParams(query)}`);
    source.onopen = () => {
      showState('on');
      if (wasOff)
        on.again?.(); // what happened meanwhile was not told
      wasOff = false;
    };
    source.onerror = () => {
      wasOff = true;
      showState('off');
      if (source.readyState === EventSource.CLOSED) // refused: the session may be over
        again();
    };
    source.addEventListener('end', again); // the session is over, or the server stops
    for (const [name, act] of Object.entries(on))
      source.addEventListener(name, (event) => act(JSON.parse(event.data)));
  };
  connect();
  life.onEnd(() => {
    clearTimeout(timer);
    source.close();
    showState('none');
  });
}

// Calls `act` when what is told of a topic has changed but for ages, which change all the time.
export function whenChanged(act) {
  let known = '';
  return (row) => {
    const text = JSON.stringify({ ...row, oldest_ready_ms: 0, in_rate: 0, out_rate: 0 });
    if (text !== known)
      act();
    known = text;
  };
}

// Calls `act` soon, however often it is wanted, and never twice at the same time.
export function atMostEach(ms, act) {
  let isWanted = false;
  let isRunning = false;
  const run = async () => {
    if (isRunning)
      return;
    isRunning = true;
    while (isWanted) {
      isWanted = false;
      await act();
      await new Promise((resolve) => { setTimeout(resolve, ms); });
    }
    isRunning = false;
  };
  return () => {
    isWanted = true;
    run();
  };
}
