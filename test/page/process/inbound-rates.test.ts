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

describe('the rates of calls to servers', () => {
  const rates = new InboundRates();

  it('are those between now and the last look that is 10 s old', () => {
    rates.look([serverWith(1000, { web: 1000 })], 0);
    expect(rates.of('a:1')).toEqual({});
    rates.look([serverWith(1100, { web: 1090, cart: 10 })], 5000);
    expect(rates.of('a:1')).toEqual({ counts: 'calls', rate: 20, errorRate: 2 });
    expect(rates.of('a:1', 'web')).toMatchObject({ rate: 18 });
    expect(rates.of('a:1', 'cart')).toMatchObject({ rate: 2 });
    expect(rates.of('a:1', 'job')).toMatchObject({ rate: 0 });
    rates.look([serverWith(1200, { web: 1190, cart: 10 })], 15_000);
    expect(rates.of('a:1', 'web')).toMatchObject({ rate: 10 });
    expect(rates.of('a:1', 'cart')).toMatchObject({ rate: 0 });
  });

  it('go on when the calls of an earlier minute are forgotten', () => {
    rates.look([serverWith(1300, { web: 200 })], 20_000);
    expect(rates.of('a:1', 'web')).toMatchObject({ rate: 13.3 });
  });

  it('begin anew after a time without a look, and end with the address', () => {
    rates.look([serverWith(9000, { web: 8000 })], 90_000);
    expect(rates.of('a:1')).toEqual({});
    rates.look([], 91_000);
    expect(rates.all()).toEqual({});
  });
});
