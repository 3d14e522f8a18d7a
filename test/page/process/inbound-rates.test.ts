import type { ServerReport } from 'grpc-xds';
import { InboundRates } from '../../../packages/page/src/process/inbound-rates';
import { serverReport } from '../../support/graphs';

/** A server that has counted these calls, and in the last minutes those of its clients. */
function serverWith(started: number, clients: Readonly<Record<string, number>>): ServerReport {
  return serverReport({
    calls: { started, inProgress: 0, succeeded: started - started / 10, failed: started / 10 },
    recentCalls: Object.entries(clients).map(([identity, calls]) => ({
      identity,
      filterChain: '',
      calls,
      refusals: [],
    })),
  });
}

/** The time of day at which the clock of the looks was 0. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

describe('the rates of calls to servers', () => {
  const rates = new InboundRates();

  it('are those between now and the last look that is 10 s old', () => {
    rates.look([serverWith(1000, { web: 1000 })], 0, EPOCH_MS);
    expect(rates.of('a:1')).toEqual({});
    rates.look([serverWith(1100, { web: 1090, cart: 10 })], 5000, EPOCH_MS);
    expect(rates.of('a:1')).toEqual({
      counts: 'calls',
      seconds: 5,
      rate: 20,
      errorRate: 2,
    });
    // Which of them failed is not known.
    expect(rates.of('a:1', 'web')).toEqual({ counts: 'calls', seconds: 5, rate: 18 });
    expect(rates.of('a:1', 'cart')).toEqual({ counts: 'calls', seconds: 5, rate: 2 });
    expect(rates.of('a:1', 'job')).toMatchObject({ rate: 0 });
    rates.look([serverWith(1200, { web: 1190, cart: 10 })], 15_000, EPOCH_MS);
    expect(rates.of('a:1', 'web')).toMatchObject({ rate: 10 });
    expect(rates.of('a:1', 'cart')).toMatchObject({ rate: 0 });
  });

  it('go on when the calls of an earlier minute are forgotten', () => {
    rates.look([serverWith(1300, { web: 200 })], 20_000, EPOCH_MS);
    expect(rates.of('a:1', 'web')).toMatchObject({ rate: 13.3 });
  });

  it('begin anew after a time without a look, and end with the address', () => {
    rates.look([serverWith(9000, { web: 8000 })], 90_000, EPOCH_MS);
    expect(rates.of('a:1')).toEqual({});
    rates.look([], 91_000, EPOCH_MS);
    expect(rates.all()).toEqual({});
  });

  it('of all have the same window, whatever addresses come and go', () => {
    const all = new InboundRates();
    const at = (address: string, started: number) =>
      ({ ...serverWith(started, {}), address }) as ServerReport;
    all.look([at('a:1', 1000), at('b:1', 1000)], 0, EPOCH_MS);
    all.look([at('a:1', 1050), at('b:1', 1050)], 5000, EPOCH_MS);
    expect(all.all()).toMatchObject({ rate: 20 });
    // One is gone, and another one has had its calls since.
    all.look([at('a:1', 1100), at('c:1', 50)], 10_000, EPOCH_MS);
    expect(all.all()).toMatchObject({ rate: 20, errorRate: 2 });
    expect(all.of('a:1')).toMatchObject({ rate: 10 });
    expect(all.of('c:1')).toMatchObject({ rate: 5 });
    expect(all.of('b:1')).toEqual({});
    // Counted anew.
    all.look([at('a:1', 0), at('c:1', 50)], 15_000, EPOCH_MS);
    expect(all.all()).toMatchObject({ rate: 10 });
    all.look([at('a:1', 0), at('c:1', 50)], 15_000, EPOCH_MS);
    expect(all.all()).toMatchObject({ rate: 10 });
  });

  it('say since when calls fail', () => {
    const all = new InboundRates();
    const since = (started: number, atMs: number) => {
      all.look([serverWith(started, {})], atMs, EPOCH_MS);
      return all.all()['failingSince'];
    };
    const iso = (ms: number) => new Date(EPOCH_MS + ms).toISOString();
    expect([since(1000, 0), since(1000, 5000)]).toEqual([undefined, undefined]);
    expect([since(1100, 8000), since(1200, 17_000), since(1200, 26_000)]).toEqual([
      iso(8000),
      iso(8000),
      iso(8000),
    ]);
    expect([since(1200, 36_000), since(1300, 37_000)]).toEqual([undefined, iso(37_000)]);
  });
});
