// Charts of what was: the server keeps it in steps, for minutes, hours and a day.
import { h, replace, section } from './element.js';
import { get } from './api.js';
import { duration, rate, whole } from './format.js';
import { chart } from './chart.js';
import { showFailure } from './notice.js';

const RANGES = [['minutes', 'Minutes'], ['hours', 'Hours'], ['day', 'Day']];
const COUNTS = ['pushed', 'claimed', 'acked', 'failed'];

// Points as charts take them: counts of a step become rates.
function pointsOf({ columns, points, step_ms: step }) {
  return points.map((values) => {
    const point = Object.fromEntries(columns.map((name, i) => [name, values[i]]));
    for (const name of COUNTS)
      if (typeof point[name] === 'number')
        point[name] = point[name] * 1000 / step;
    return point;
  });
}

function chartsOf(life) {
  const wanted = [
    { title: 'Jobs in and out, per second', format: rate, series: [{ name: 'pushed', label: 'pushed', area: true }, { name: 'acked', label: 'acknowledged' }, { name: 'failed', label: 'failed' }] },
    { title: 'Backlog', format: whole, series: [{ name: 'ready', label: 'ready', area: true }, { name: 'delayed', label: 'delayed' }] },
    { title: 'Wait from due to claim', format: duration, series: [{ name: 'wait_p50', label: 'half below', area: true }, { name: 'wait_p99', label: '99 % below' }] },
    { title: 'Run from claim to ack', format: duration, series: [{ name: 'run_p50', label: 'half below', area: true }, { name: 'run_p99', label: '99 % below' }] },
    { title: 'Lateness: 99 % of waiting claims below', format: duration, series: [{ name: 'lateness_p99', label: '99 % below', area: true }] },
  ];
  const charts = wanted.map((options) => chart({ ...options, nothing: 'No figures yet: they come as jobs do' }));
  life.onEnd(() => charts.forEach((one) => one.end()));
  return charts;
}

// One of several choices, as radio buttons: the arrow keys choose.
export function segments(name, label, choices, value, onchange) {
  return h('fieldset', { class: 'segments' }, h('legend', { class: 'unseen' }, label), choices.map(([key, text]) => h('label', { class: 'segment' },
    h('input', { type: 'radio', name, value: key, checked: key === value, onchange: () => onchange(key) }), h('span', null, text))));
}

export function historyPart(path, life) {
  let range = 'minutes';
  const charts = chartsOf(life);
  const place = h('div', { class: 'charts' }, charts.map(({ element }) => element));
  const load = async () => {
    try {
      const points = pointsOf(await get(path, { range }, life.signal));
      charts.forEach((one) => one.update(points));
    } catch (error) {
      if (error.status === 404)
        element.hidden = true; // nothing is kept of it
      else if (error.name !== 'AbortError' && !life.isOver())
        showFailure(place, error, load);
    }
  };
  const choose = segments('range', 'How far back', RANGES, range, (key) => { range = key; load(); });
  const element = section('What was', choose, place);
  element.classList.add('has-choice');
  return { element, load };
}
