// Numbers, times and names as people read them. Times come in unix milliseconds, durations in milliseconds.
import { h } from './element.js';

const numbers = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
let ahead = 0; // how far the server's clock is ahead of this one

export const setServerTime = (now) => { ahead = now - Date.now(); };
export const serverTime = () => Date.now() + ahead;
export const zoneName = () => zone;

export const number = (value) => value === null || value === undefined ? '–' : numbers.format(value);
export const compact = (value) => value === null || value === undefined ? '–' : value < 10000 ? number(value) : short.format(value);

// On the axis of a chart of whole things: half a job has no name.
export const whole = (value) => value % 1 ? '' : compact(value);

export function rate(value) {
  if (value === null || value === undefined)
    return '–';
  if (value === 0)
    return '0/s';
  return value >= 10 ? `${compact(Math.round(value))}/s` : value >= 0.1 ? `${value.toFixed(1)}/s` : `${(value * 60).toFixed(1)}/min`;
}

export function bytes(value) {
  if (value === null || value === undefined)
    return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

const UNITS = [['d', 86400000], ['h', 3600000], ['m', 60000], ['s', 1000]];

// "2h 5m": the two greatest units.
export function duration(ms) {
  if (ms === null || ms === undefined)
    return '–';
  if (ms < 1000)
    return `${Math.round(ms)} ms`;
  if (ms < 10000)
    return `${(ms / 1000).toFixed(1)} s`;
  const at = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[at];
  const count = Math.floor(ms / size);
  const next = UNITS[at + 1];
  const rest = next ? Math.floor((ms - count * size) / next[1]) : 0;
  return rest > 0 ? `${count}${unit} ${rest}${next[0]}` : `${count}${unit}`;
}

// "30s", as the server reads it, from its milliseconds; whole units only.
export function durationWord(ms) {
  for (const [unit, size] of UNITS)
    if (ms >= size && ms % size === 0)
      return `${ms / size}${unit}`;
  return `${ms}ms`;
}

export const plural = (count, one) => `${number(count)} ${one}${count === 1 ? '' : 's'}`;

export function distance(time) {
  const wait = time - serverTime();
  return Math.abs(wait) < 1000 ? 'now' : wait > 0 ? `in ${duration(wait)}` : `${duration(-wait)} ago`;
}

const two = (value) => String(value).padStart(2, '0');

export function local(time, withMs) {
  const date = new Date(time);
  const text = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return withMs ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text;
}

export function utc(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

export const clock = (time, withSeconds) => local(time).slice(11, withSeconds ? 19 : 16);

// A moment: how far away, and the time itself on request.
export function moment(time) {
  if (time === null || time === undefined)
    return '–';
  const date = new Date(time);
  if (Number.isNaN(date.getTime()))
    return number(time);
  return h('time', { datetime: date.toISOString(), title: `${local(time)} (${zone})\n${utc(time)}`, 'data-distance': time }, distance(time));
}

// A moment in full: in the zone of the viewer, in UTC, and how far away.
export function fullMoment(time) {
  if (time === null || time === undefined)
    return '–';
  if (Number.isNaN(new Date(time).getTime()))
    return number(time);
  return h('span', { class: 'moment' }, h('time', { datetime: new Date(time).toISOString() }, local(time, true)),
    h('span', { class: 'dim' }, `${zone} · `, h('span', { 'data-distance': time }, distance(time))),
    zone === 'UTC' ? null : h('span', { class: 'dim' }, utc(time)));
}

// Distances go on while they are looked at.
export function refreshDistances(root) {
  for (const element of root.querySelectorAll('[data-distance]')) {
    const text = distance(Number(element.dataset.distance));
    if (element.textContent !== text)
      element.textContent = text;
  }
}

// What a field for date and time takes and gives, in the viewer's zone.
export const toField = (time) => local(time).replace(' ', 'T');
export const fromField = (text) => text ? new Date(text).getTime() : null;

// Names and bodies may be any bytes: JSON has them as text or as {base64}. In addresses they are percent-encoded.
export const bytesOf = (value) => typeof value === 'string' ? new TextEncoder().encode(value)
  : Uint8Array.from(atob(value.base64), (letter) => letter.charCodeAt(0));

export function encodeName(name) {
  if (typeof name === 'string')
    return encodeURIComponent(name);
  return Array.from(bytesOf(name), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

export function decodeName(encoded) {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded.replaceAll('%', '\\x');
  }
}

export const nameText = (name) => name === null || name === undefined ? '–' : decodeName(encodeName(name));
// A name in JSON: text, or base64 of what is no text.
export function nameValue(encoded) {
  try {
    return decodeURIComponent(encoded);
  } catch {
    const raw = encoded.replace(/%([0-9a-fA-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
    return { base64: btoa(raw) };
  }
}
