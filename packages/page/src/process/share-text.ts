import type { GotShare } from 'grpc-xds/internal';

/** Says what part of the calls a weight gives to a way, and what it got: `asked 25 %, got 24.6 % (246 of 1000 calls)`. */
export function describeShare(
  asked: number,
  { got, calls, of }: GotShare,
  counted: 'calls' | 'attempts',
): string {
  return `asked ${percent(asked)}, got ${percent(got)} (${calls} of ${of} ${counted})`;
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(1))} %`;
}

/** Says what part of the calls of a second fails, rounded up: `12 % of 18.3 calls/s`. */
export function describeShareOfErrors(rate: number, errorRate: number): string {
  const share = Math.min(100, Math.ceil((100 * errorRate) / rate));
  return `${share} % of ${Number(rate.toPrecision(3))} calls/s`;
}
