// The calls of the last minutes as a picture. Screen readers get its numbers.

import { svgElement } from './dom.js';
import { number } from './graph-layout.js';

/** The time of one value. */
export const SLOT_MS = 10_000;
/** The size of a picture beside a text, which is as wide as five minutes. */
const SMALL = { width: 120, height: 20 };
const SMALL_SLOTS = 30;

/** Draws a trend beside a text: the newest on the right. */
export function sparkline(row) {
  const xOf = (slots) => SMALL.width * (1 - slots / SMALL_SLOTS);
  return drawTrend(row, { ...SMALL, name: 'sparkline', unit: '', labelX: 0, xOf });
}

/**
 * Draws calls a second and, in front of them, those that failed.
 *
 * @param row `trend`, `errorTrend` and `latencyTrend` for each ten seconds, the oldest first, of what it `counts`. Latencies have a scale
 * of their own.
 * @param size `xOf(slots)` returns where the time is that was so many slots before the end, `nowX` where now is: until then, it is as in
 * the last ten seconds. Default: it ends with the last value.
 */
export function drawTrend(
  { trend, errorTrend = [], latencyTrend = [], counts, rate = 0, p99 },
  size,
) {
  const { width, height, name, unit, labelX, xOf, nowX } = size;
  const highest = Math.max(...trend, ...errorTrend, nowX === undefined ? 0 : rate);
  const factor = highest === 0 ? 0 : (height - 2) / highest;
  const area = (values) => {
    const points = values.flatMap((value, index) => {
      const slots = values.length - index;
      return [slots, slots - 1].map((each) => [round(xOf(each)), round(height - value * factor)]);
    });
    return `M${points[0][0]},${height}L${points.join('L')}L${points.at(-1)[0]},${height}Z`;
  };
  const slowest = Math.max(0, ...latencyTrend);
  const latency = latencyTrend.flatMap((value, index) => {
    const slots = latencyTrend.length - index;
    if (value === 0) return [];
    const lineY = round(height - 1 - (value * (height - 2)) / slowest);
    // Where no call ended before it, the line begins.
    const from = latencyTrend[index - 1] > 0 ? 'L' : 'M';
    return [`${from}${round(xOf(slots))},${lineY}H${round(xOf(slots - 1))}`];
  });
  const failed = errorTrend.some((rate) => rate > 0) ? errorTrend : [];
  const [endX, y] = [round(xOf(0)), round(height - rate * factor)];
  const latest = `M${endX},${height}V${y}H${round(nowX ?? endX)}V${height}Z`;
  const seconds = (trend.length * SLOT_MS) / 1000;
  const failures = failed.length > 0 ? `; of these failed ${list(failed)}` : '';
  const peak = describePeak(slowest, p99);
  const latencies = slowest > 0 ? `; p99 in milliseconds ${list(latencyTrend)}` : '';
  const label = `${counts} a second in the last ${seconds} seconds, by ten seconds: ${list(trend)}${failures}${latencies}`;
  return svgElement(
    'svg',
    { class: `trend ${name}`, role: 'img', 'aria-label': label, width, height },
    svgElement('title', {}, label),
    svgElement('path', { class: 'calls', d: area(trend) }),
    ...(nowX > endX ? [svgElement('path', { class: 'latest', d: latest })] : []),
    ...(failed.length > 0 ? [svgElement('path', { class: 'failed', d: area(failed) })] : []),
    ...(slowest > 0 ? [svgElement('path', { class: 'latency', d: latency.join('') })] : []),
    svgElement('text', { x: labelX, y: 9 }, `${number(highest)}${unit}${peak}`),
  );
}

/** @param now That of the last ten seconds, which have no place of their own yet. */
function describePeak(slowest, now = 0) {
  return slowest > 0 ? `, p99 up to ${number(Math.max(slowest, now))} ms` : '';
}

function list(values) {
  return values.map((value) => Number(value.toFixed(1))).join(', ');
}

function round(value) {
  return Math.round(value * 10) / 10;
}
