// The rates of calls that rows have, as texts and in columns.

import { element } from './dom.js';
import { counted, describeGot, number } from './graph-layout.js';
import { sparkline } from './trend.js';

/** Returns what a row has of rates, in a few words each; nothing without any. */
export function rateTexts(row) {
  const { rate, lostRate, errorRate, errors = [], cancelled, counts, p50, p99, inFlight } = row;
  if (rate === undefined) return [];
  return [
    `${number(rate)} ${counts}/s`,
    ...(rate === 0 && lostRate > 0 ? [`was ${number(lostRate)}/s`] : []),
    ...(errorRate > 0 ? [`${number(errorRate)} errors/s`] : []),
    ...(errors.length > 0 ? [errors.join(', ')] : []),
    ...(cancelled > 0 ? [`${cancelled} cancelled`] : []),
    ...(p50 === undefined ? [] : [`p50 ${number(p50)} ms`]),
    ...(p99 === undefined ? [] : [`p99 ${p50 === undefined ? 'at most ' : ''}${number(p99)} ms`]),
    ...(inFlight > 0 ? [`${inFlight} in flight`] : []),
  ];
}

/** The fewest values of a trend that show one. */
const MIN_TREND = 3;

/** Draws the trend of a row; nothing without one. */
export function trendOf(row) {
  const { trend = [] } = row;
  const isIdle = trend.length < MIN_TREND || trend.every((rate) => rate === 0);
  return isIdle ? [] : [sparkline(row)];
}

/** Says what share of the calls an edge got; nothing where no weight decides, or without calls. */
export function shareTexts({ share, got, gotCalls, gotOf, counts }) {
  if (share === undefined || got === undefined) return [];
  // Localities have weights within their priority.
  const noun = counts === 'attempts' ? 'attempts on the priority' : '';
  return [describeGot(share, { got, calls: gotCalls, of: gotOf }, noun)];
}

/** The column of rates. The rows of a client have them. */
export const traffic = {
  name: 'traffic',
  title: 'Traffic',
  cell(row) {
    const [rate, ...others] = rateTexts(row);
    if (rate === undefined) return [];
    const { connections, shares = [] } = row;
    const details = [
      ...others,
      ...(connections === undefined ? [] : [counted(connections, 'connection')]),
    ];
    return [
      element('span', { class: 'rate' }, rate),
      ' ',
      ...trendOf(row),
      ...(details.length === 0 ? [] : [element('p', { class: 'count' }, details.join(', '))]),
      ...shares.map((share) => element('p', { class: 'share' }, share)),
    ];
  },
};
