import { LoadStatsResponse } from '../../../src/wire/generated/envoy/service/load_stats/v3/lrs';
import { LrsHarness } from './harness';
import { MESSAGE_LIMIT } from '../../../src/util/limits';

const TEN_SECONDS = 10_000;

function encodeResponse(response: Partial<LoadStatsResponse>): Uint8Array {
  const loadReportingInterval = { seconds: 10n, nanos: 0 };
  return LoadStatsResponse.encode(
    LoadStatsResponse.create({ sendAllClusters: true, loadReportingInterval, ...response }),
  ).finish();
}

describe('LRS responses without a pause', () => {
  it('are read at most ten times a second, and the last one applies', () => {
    const lrs = new LrsHarness();
    lrs.acquire();
    for (let i = 1; i <= 1000; i++) lrs.order({ clusters: [`c${i}`], intervalMs: i });
    lrs.clock.advance(900);
    expect(lrs.stream.unread).toBe(990);
    lrs.clock.advance(99_000);
    expect(lrs.stream.unread).toBe(0);
  });

  it('do not put off the reports by changing the interval', () => {
    const lrs = new LrsHarness();
    lrs.acquire();
    for (let i = 0; i < 100; i++) {
      lrs.order({ intervalMs: i % 2 === 0 ? 1000 : 1001 });
      lrs.clock.advance(100);
    }
    expect(lrs.reports).toHaveLength(9);
  });

  it.each([
    ['empty', new Uint8Array(), 'sent no load_reporting_interval'],
    [
      'with an interval of 0',
      encodeResponse({ loadReportingInterval: { seconds: 0n, nanos: 0 } }),
      'sent a load_reporting_interval of 0',
    ],
    [
      'with a negative interval',
      encodeResponse({ loadReportingInterval: { seconds: -1n, nanos: 0 } }),
      'sent a bad interval: load_reporting_interval.seconds: must be from 0 to 315576000000, not -1',
    ],
    [
      'with a million clusters',
      encodeResponse({ clusters: new Array<string>(1_000_000).fill('c') }),
      `sent a response that is too large: clusters: more than ${MESSAGE_LIMIT.maxFields} fields in one message`,
    ],
  ])('end the stream, to be opened after the backoff, when they are %s', (_, bytes, reason) => {
    const lrs = new LrsHarness();
    lrs.acquire();
    for (let i = 0; i < 100; i++) lrs.stream.respondBytes(bytes);
    lrs.clock.flush();
    expect(lrs.streamCount).toBe(1);
    expect(lrs.logger.errors).toEqual([expect.stringContaining(` ${reason}; next attempt in `)]);
    lrs.clock.advance(TEN_SECONDS);
    expect(lrs.streamCount).toBeLessThan(10);
  });

  it('may have an interval of ten thousand years', () => {
    const lrs = new LrsHarness();
    lrs.acquire();
    lrs.order({ intervalMs: 315_576_000_000_000 });
    lrs.clock.advance(TEN_SECONDS);
    expect([lrs.reports, lrs.logger.errors]).toEqual([[], []]);
    lrs.order({ intervalMs: 100 });
    lrs.clock.advance(99);
    // It has been over for long.
    expect(lrs.reports).toHaveLength(1);
  });
});
