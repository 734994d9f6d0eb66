// Charts in SVG: lines, areas and bars. Each line has its own dashes and its name, so that colour is not needed; the
// arrow keys go along the times and say the figures; a table below has all of them.
import { h, svg, table, newId, replace } from './element.js';
import { clock, local } from './format.js';

const SIZE = { height: 168, left: 56, right: 12, top: 10, bottom: 24 };

// A top for the scale that divides well.
function niceTop(value) {
  if (!(value > 0))
    return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].find((step) => step * power >= value) * power;
}

function timeText(time, span) {
  return span > 36 * 3600000 ? local(time).slice(5, 16) : clock(time, span <= 10 * 60000);
}

function scales(points, series, width) {
  const from = points[0].time;
  const to = points[points.length - 1].time;
  const top = niceTop(Math.max(0, ...points.flatMap((point) => series.map(({ name }) => point[name] ?? 0))));
  const inner = Math.max(width - SIZE.left - SIZE.right, 10);
  const tall = SIZE.height - SIZE.top - SIZE.bottom;
  return { from, to, top, inner, x: (time) => SIZE.left + (to === from ? inner / 2 : (time - from) / (to - from) * inner),
    y: (value) => SIZE.top + tall - value / top * tall };
}

function grid(scale, format, ticks) {
  const lines = [0, 0.5, 1].map((part) => {
    const y = scale.y(part * scale.top);
    return [svg('line', { class: 'grid', x1: SIZE.left, x2: SIZE.left + scale.inner, y1: y, y2: y }),
      svg('text', { class: 'axis', x: SIZE.left - 8, y: y + 4, 'text-anchor': 'end' }, format(part * scale.top))];
  });
  const texts = ticks.map(({ x, text, anchor }) =>
    svg('text', { class: 'axis', x, y: SIZE.height - 6, 'text-anchor': anchor }, text));
  return [lines, texts];
}

function timeTicks(scale) {
  const count = scale.inner > 420 ? 4 : 2;
  return Array.from({ length: count + 1 }, (_, i) => {
    const time = scale.from + (scale.to - scale.from) * i / count;
    return { x: scale.x(time), text: timeText(time, scale.to - scale.from), anchor: i === 0 ? 'start' : i === count ? 'end' : 'middle' };
  });
}

// A gap, where a figure is null, is a gap in the line.
function pathOf(points, name, scale) {
  let text = '';
  let isOpen = false;
  for (const point of points) {
    const value = point[name];
    if (value === null || value === undefined) {
      isOpen = false;
      continue;
    }
    text += `${isOpen ? 'L' : 'M'}${scale.x(point.time).toFixed(1)} ${scale.y(value).toFixed(1)}`;
    isOpen = true;
  }
  return text;
}

function areaOf(points, name, scale) {
  const known = points.filter((point) => point[name] !== null && point[name] !== undefined);
  if (known.length < 2)
    return '';
  return `${pathOf(known, name, scale)}L${scale.x(known.at(-1).time).toFixed(1)} ${scale.y(0)}L${scale.x(known[0].time).toFixed(1)} ${scale.y(0)}Z`;
}

function linesOf(points, series, scale) {
  return series.map(({ name, area }, i) => [
    area ? svg('path', { class: `area tone-${i + 1}`, d: areaOf(points, name, scale) }) : null,
    svg('path', { class: `line tone-${i + 1}`, d: pathOf(points, name, scale) })]);
}

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
    if (at === null || !points.length) {
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
    if (!points.length)
      return;
    const part = (event.clientX - image.getBoundingClientRect().left - SIZE.left) / scale.inner;
    at = Math.floor(part * points.length);
    show();
  };
  image.addEventListener('pointermove', nearest);
  image.addEventListener('pointerleave', () => { at = null; show(); });
  image.addEventListener('blur', () => { at = null; show(); });
  image.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (step === undefined || !state.points.length)
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
  const state = { points: [], series, format, isBars: options.bars };
  const moveCursor = addCursor(figure, image, state);
  figure.append(figures);

  const draw = () => {
    const width = Math.max(figure.clientWidth, 200);
    const { points } = state;
    image.setAttribute('width', width);
    image.setAttribute('viewBox', `0 0 ${width} ${SIZE.height}`);
    if (!points.length) {
      image.replaceChildren(svg('text', { class: 'axis', x: width / 2, y: SIZE.height / 2, 'text-anchor': 'middle' }, options.nothing));
      return;
    }
    const scale = scales(points, series, width);
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
