// A trend as a small picture. Screen readers get its numbers.

import { svgElement } from './dom.js';

const WIDTH = 120;
const HEIGHT = 20;
/** The slots of five minutes. */
const SLOTS = 30;
export const SLOT_SECONDS = 10;

/** Returns how high a value of some is drawn, and the highest in two digits. */
export function scaleOf(values, height) {
  const highest = Math.max(...values);
  const factor = highest === 0 ? 0 : (height - 2) / highest;
  return { highest: Number(highest.toPrecision(2)), heightOf: (value) => round(value * factor) };
}

/**
 * Draws calls a second, and those of them that failed: the newest on the right.
 *
 * @param trend For each ten seconds, the oldest first.
 * @param failed The same for failed ones; empty if there were none.
 * @param noun Such as `calls`.
 */
export function sparkline(trend, failed, noun) {
  const { highest, heightOf } = scaleOf([...trend, ...failed], HEIGHT);
  const points = (values) => {
    const first = SLOTS - values.length;
    return values.map((value, index) => [
      round(((first + index) / (SLOTS - 1)) * WIDTH),
      round(HEIGHT - 1 - heightOf(value)),
    ]);
  };
  const label = describeTrend(trend, failed, noun);
  return svgElement(
    'svg',
    {
      class: 'sparkline',
      role: 'img',
      'aria-label': label,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      width: WIDTH,
      height: HEIGHT,
    },
    svgElement('title', {}, label),
    svgElement('path', { class: 'axis', d: `M0,${HEIGHT - 0.5}H${WIDTH}` }),
    svgElement('path', { class: 'calls', d: line(points(trend)) }),
    ...(failed.length === 0
      ? []
      : [svgElement('path', { class: 'failed', d: line(points(failed)) })]),
    // The scale.
    svgElement('text', { x: 0, y: 8 }, `${highest}`),
  );
}

/** Says the values of a trend, for screen readers. */
export function describeTrend(trend, failed, noun) {
  const seconds = trend.length * SLOT_SECONDS;
  const failures = failed.some((rate) => rate > 0) ? `; of these failed ${list(failed)}` : '';
  return `${noun} a second in the last ${seconds} seconds, by ten seconds: ${list(trend)}${failures}`;
}

function list(values) {
  return values.map((value) => Number(value.toFixed(1))).join(', ');
}

function line(points) {
  // One point alone is a line of no length, which is drawn as a dot.
  return `M${[...points, points.at(-1)].map(([x, y]) => `${x},${y}`).join('L')}`;
}

function round(value) {
  return Math.round(value * 10) / 10;
}
