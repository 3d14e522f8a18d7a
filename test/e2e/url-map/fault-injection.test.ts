import { status } from '@grpc/grpc-js';
import { DEFAULT, FAULT, FAULT_TYPE, routeRule, UrlMap, type Tally } from '../../support/url-map';
import { pathOf } from '../../support/url-map-backend';

// The cases of gRPC's url-map interop suite `fault_injection`, under their names there (gRFC A33).

jest.setTimeout(30_000);

const COUNT = 10;
/** Enough calls that a share of one half is never outside of 20 % to 80 %. */
const RANDOM_COUNT = 200;
const TOLERANCE = 0.2;
const DELAY_MS = 20_000;
/** How long the application waits for a call that may be delayed. */
const PATIENCE_MS = 1500;

describe('fault_injection', () => {
  let urlMap: UrlMap;

  beforeEach(async () => {
    urlMap = await UrlMap.start();
  });
  afterEach(() => {
    const endpoints = urlMap.endpointsInUse();
    urlMap.stop();
    expect(endpoints).toEqual([DEFAULT]);
  });

  /** Injects faults into `UnaryCall` by its route; the listener's own config has none. */
  function inject({ abort, delay }: { abort: number; delay: number }): void {
    const percentage = (percent: number) => ({
      numerator: percent * 10_000,
      denominator: 'MILLION',
    });
    const fault = {
      '@type': FAULT_TYPE,
      abort: { http_status: 401, percentage: percentage(abort) },
      delay: { fixed_delay: `${DELAY_MS / 1000}s`, percentage: percentage(delay) },
    };
    const match = { path: pathOf('UnaryCall') };
    urlMap.serve([routeRule(match, DEFAULT, { typed_per_filter_config: { [FAULT]: fault } })], {
      filters: [{ name: FAULT, typed_config: { '@type': FAULT_TYPE } }],
    });
  }

  /** Sends the calls once there is a connection, for which those with a short deadline may not have the time. */
  async function sendUnary(count: number, deadlineMs?: number): Promise<Tally> {
    await urlMap.send({ rpc: 'EmptyCall', count: 1 });
    const deadline = deadlineMs === undefined ? {} : { deadlineMs };
    return urlMap.send({ rpc: 'UnaryCall', count, ...deadline });
  }

  const seenUnary = () => urlMap.backend(DEFAULT).seen.filter(({ rpc }) => rpc === 'UnaryCall');

  const ratio = ({ codes }: Tally, code: status) => (codes.get(code) ?? 0) / RANDOM_COUNT;

  it('TestZeroPercentFaultInjection', async () => {
    inject({ abort: 0, delay: 0 });
    const { codes } = await sendUnary(COUNT);
    expect(codes).toEqual(new Map([[status.OK, COUNT]]));
  });

  it('TestNonMatchingFaultInjection', async () => {
    inject({ abort: 100, delay: 100 });
    const { codes } = await urlMap.send({ rpc: 'EmptyCall', count: COUNT });
    expect(codes).toEqual(new Map([[status.OK, COUNT]]));
  });

  it('TestAlwaysDelay', async () => {
    inject({ abort: 0, delay: 100 });
    const { codes } = await sendUnary(COUNT, PATIENCE_MS);
    expect(codes).toEqual(new Map([[status.DEADLINE_EXCEEDED, COUNT]]));
    // A delayed call has sent nothing.
    expect(seenUnary()).toEqual([]);
  });

  it('TestAlwaysAbort', async () => {
    inject({ abort: 100, delay: 0 });
    const { codes } = await sendUnary(COUNT);
    expect(codes).toEqual(new Map([[status.UNAUTHENTICATED, COUNT]]));
    expect(seenUnary()).toEqual([]);
  });

  it('TestDelayHalf', async () => {
    inject({ abort: 0, delay: 50 });
    const tally = await sendUnary(RANDOM_COUNT, PATIENCE_MS);
    expect(Math.abs(ratio(tally, status.DEADLINE_EXCEEDED) - 0.5)).toBeLessThan(TOLERANCE);
    expect(ratio(tally, status.OK) + ratio(tally, status.DEADLINE_EXCEEDED)).toBe(1);
  });

  it('TestAbortHalf', async () => {
    inject({ abort: 50, delay: 0 });
    const tally = await sendUnary(RANDOM_COUNT);
    expect(Math.abs(ratio(tally, status.UNAUTHENTICATED) - 0.5)).toBeLessThan(TOLERANCE);
    expect(ratio(tally, status.OK) + ratio(tally, status.UNAUTHENTICATED)).toBe(1);
  });
});
