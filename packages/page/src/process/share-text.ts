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
