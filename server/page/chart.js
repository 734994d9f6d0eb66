// Charts in SVG: lines, areas and bars. Each line has its own dashes and its name, so that colour is not needed; the
// arrow keys go along the times and say the figures; a table below has all of them.
import { h, svg, table, newId, replace } from './element.js';
import { clock, local } from './format.js';

// In parts of the page's font size, with which everything else grows on large screens.
const rem = parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
const SIZE = { height: 10.5 * rem, left: 3.5 * rem, right: 0.75 * rem, top: 0.625 * rem, bottom: 1.5 * rem };
const MINUTE = 60000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14400].map((minutes) => minutes * MINUTE);

// A top for the scale that divides well.
function niceTop(value) {
  if (!(value > 0))
    return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value) * power;
}

const timeText = (time, span) => span > 36 * 60 * MINUTE ? local(time).slice(5, 16) : clock(time, span <= 10 * MINUTE);
const isKnown = (value) => value !== null && value !== undefined;

// A bar reaches to the time of the next one.
function scales(points, series, width, isBars) {
  const from = points[0].time;
  const last = points[points.length - 1].time;
  const to = isBars && points.length > 1 ? last + (last - from) / (points.length - 1) : last;
  const top = niceTop(Math.max(0, ...points.flatMap((point) => series.map(({ name }) => point[name] ?? 0))));
  const inner = Math.max(width - SIZE.left - SIZE.right, 10);
  const tall = SIZE.height - SIZE.top - SIZE.bottom;
  return { from, to, top, inner, x: (time) => SIZE.left + (to === from ? inner / 2 : (time - from) / (to - from) * inner),
    y: (value) => SIZE.top + tall - value / top * tall };
}

// Where a chart ends, and half of what a text below it takes: the last time must not be cut.
const rightOf = (scale) => SIZE.left + scale.inner + SIZE.right;
const halfOf = (text) => text.length * rem * 0.22;

function grid(scale, format, ticks) {
  const named = new Set(); // half of 1 ms is no other figure
  const lines = [0, 1, 0.5].map((part) => {
    const y = scale.y(part * scale.top);
    const text = named.has(format(part * scale.top)) ? '' : format(part * scale.top);
    named.add(text);
    return [svg('line', { class: 'grid', x1: SIZE.left, x2: SIZE.left + scale.inner, y1: y, y2: y }),
      svg('text', { class: 'axis', x: SIZE.left - rem / 2, y: y + rem / 4, 'text-anchor': 'end' }, text)];
  });
  const texts = ticks.map(({ x, text }) => [
    svg('line', { class: 'grid', x1: x, x2: x, y1: scale.y(0), y2: scale.y(0) + rem / 4 }),
    svg('text', { class: 'axis', x: Math.min(x, rightOf(scale) - halfOf(text)), y: SIZE.height - rem / 4, 'text-anchor': 'middle' }, text)]);
  return [lines, texts];
}

// Whole minutes, hours and days of the viewer's zone.
function timeTicks(scale) {
  const span = scale.to - scale.from;
  const most = Math.max(Math.floor(scale.inner / ((span > 36 * 60 * MINUTE ? 6 : 4) * rem)), 1);
  const step = STEPS.find((one) => span / one <= Math.min(most, 6)) ?? STEPS.at(-1);
  const zone = new Date(scale.from).getTimezoneOffset() * MINUTE;
  const ticks = [];
  for (let time = Math.ceil((scale.from - zone) / step) * step + zone; time <= scale.to; time += step)
    ticks.push({ x: scale.x(time), text: span > 36 * 60 * MINUTE && step >= 1440 * MINUTE ? local(time).slice(5, 10) : timeText(time, span) });
  return ticks;
}

// What is known without a gap, as parts of a line: where a figure is null there is none.
function runsOf(points, name, scale) {
  const runs = [[]];
  for (const point of points)
    if (isKnown(point[name]))
      runs.at(-1).push([scale.x(point.time).toFixed(1), scale.y(point[name]).toFixed(1)]);
    else if (runs.at(-1).length)
      runs.push([]);
  return runs.filter((run) => run.length);
}

const pathOf = (run) => `M${run.map((place) => place.join(' ')).join('L')}`;

function seriesOf(runs, area, tone, bottom) {
  const lines = runs.filter((run) => run.length > 1);
  return [area ? svg('path', { class: `area ${tone}`, d: lines.map((run) => `${pathOf(run)}L${run.at(-1)[0]} ${bottom}L${run[0][0]} ${bottom}Z`).join('') }) : null,
    svg('path', { class: `line ${tone}`, d: lines.map(pathOf).join('') }),
    runs.filter((run) => run.length === 1).map(([[cx, cy]]) => svg('circle', { class: `dot ${tone}`, cx, cy, r: rem / 7 }))];
}

const linesOf = (points, series, scale) => series.map(({ name, area }, i) => seriesOf(runsOf(points, name, scale), area, `tone-${i + 1}`, scale.y(0)));

function barsOf(points, name, scale) {
  const width = scale.inner / points.length;
  return points.map((point, i) => svg('rect', { class: 'bars tone-1', x: SIZE.left + i * width + width * 0.1, width: Math.max(width * 0.8, 1),
    y: scale.y(point[name]), height: Math.max(scale.y(0) - scale.y(point[name]), 0) }));
}

const legend = (series) => h('ul', { class: 'legend', 'aria-hidden': 'true' }, series.map(({ label }, i) => h('li', null,
  svg('svg', { width: 22, height: 8, viewBox: '0 0 22 8' }, svg('path', { class: `line tone-${i + 1}`, d: 'M1 4h20' })), label)));

const sentence = (point, series, format, span) =>
  `${timeText(point.time, span)}: ${series.map(({ name, label }) => `${label} ${format(point[name])}`).join(', ')}`;

// The mark that the pointer or the arrow keys move, with its figures below the chart.
function addCursor(figure, image, state) {
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  let at = null;
  const show = () => {
    const { points, series, format, scale, isBars } = state;
    image.querySelector('.cursor')?.remove();
    if (at === null || !scale) {
      readout.textContent = '';
      return;
    }
    at = Math.min(Math.max(at, 0), points.length - 1);
    const x = isBars ? SIZE.left + (at + 0.5) * scale.inner / points.length : scale.x(points[at].time);
    image.append(svg('line', { class: 'cursor', x1: x, x2: x, y1: SIZE.top, y2: SIZE.height - SIZE.bottom }));
    readout.textContent = sentence(points[at], series, format, state.span);
  };
  const nearest = (event) => {
    const { scale, points } = state;
    if (!scale)
      return;
    const part = (event.clientX - image.getBoundingClientRect().left - SIZE.left) / scale.inner;
    at = state.isBars ? Math.floor(part * points.length) : Math.round(part * (points.length - 1));
    show();
  };
  image.addEventListener('pointermove', nearest);
  image.addEventListener('pointerleave', () => { at = null; show(); });
  image.addEventListener('blur', () => { at = null; show(); });
  image.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (step === undefined || !state.scale)
      return;
    event.preventDefault();
    at = (at ?? (step < 0 ? state.points.length : -1)) + step;
    show();
  });
  figure.append(readout);
  return show;
}

// A chart: {title, series: [{name, label, area?}], format, bars?, nothing}. update(points) draws points of {time, NAME: value},
// in the order of their times.
export function chart(options) {
  const { title, series, format } = options;
  const id = newId('chart');
  const image = svg('svg', { class: 'chart', role: 'img', tabindex: '0', 'aria-labelledby': id, height: SIZE.height });
  const name = h('figcaption', { id }, title);
  const figures = h('details', { class: 'figures' }, h('summary', null, 'Figures as a table'));
  const figure = h('figure', null, h('div', { class: 'figure-head' }, name, series.length > 1 ? legend(series) : null), image);
  const state = { points: [], series, format, isBars: options.bars, scale: null };
  const moveCursor = addCursor(figure, image, state);
  figure.append(figures);

  const draw = () => {
    const width = Math.max(figure.clientWidth, 200);
    const { points } = state;
    image.setAttribute('width', width);
    const isEmpty = !points.some((point) => series.some((one) => isKnown(point[one.name])));
    const height = isEmpty ? 4 * rem : SIZE.height;
    image.setAttribute('height', height);
    image.setAttribute('viewBox', `0 0 ${width} ${height}`);
    if (isEmpty) {
      state.scale = null;
      image.replaceChildren(svg('text', { class: 'axis', x: width / 2, y: height / 2, 'text-anchor': 'middle' }, options.nothing));
      return;
    }
    const scale = scales(points, series, width, options.bars);
    state.scale = scale;
    state.span = scale.to - scale.from;
    image.replaceChildren(...[grid(scale, format, timeTicks(scale)), options.bars ? barsOf(points, series[0].name, scale)
      : linesOf(points, series, scale)].flat(Infinity).filter(Boolean));
    moveCursor();
  };
  const drawTable = () => {
    if (figures.open)
      replace(figures, figures.firstChild, table(title, [{ name: 'Time', rowHead: true, cell: (point) => local(point.time) },
        ...series.map((one) => ({ name: one.label, number: true, cell: (point) => format(point[one.name]) }))], state.points));
  };
  figures.addEventListener('toggle', drawTable);
  const observer = new ResizeObserver(draw);
  observer.observe(figure);
  return { element: figure, update(points) {
    state.points = points;
    draw();
    drawTable();
  }, end: () => observer.disconnect() };
}
