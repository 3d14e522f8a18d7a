import { Metadata } from '../../../src/grpc-js';
import {
  CallTiming,
  ClusterCalls,
  type EndpointCalls,
} from '../../../src/lb/cluster-impl/endpoint-calls';
import { ProcessRates } from '../../../src/observe/rates/process-rates';
import type { RateColumns } from '../../../src/observe/rates/rate-sum';
import { ReadRates } from '../../../src/observe/rates/read-rates';
import type { Handle } from '../../../src/util/handle';
import type { EndpointState } from '../../../src/lb/tree/policy-state';
import { FakeClock } from '../../support/fake-clock';
import { makeEndpointSet, makeLocality } from '../../support/lb-harness';
import { FakeSubchannel } from '../../support/lb-subchannel';

const MINUTE_MS = 60_000;

/** Starts a call, as what starts those on a connection does. */
function start(endpoint: EndpointCalls) {
  endpoint.inFlight++;
  const tracer = endpoint.startAttempt();
  return {
    end: (code: number) => {
      endpoint.inFlight--;
      tracer?.onEnded({ code, details: '', metadata: new Metadata() });
    },
    withdraw: () => {
      endpoint.inFlight--;
      tracer?.onNotSent(new Error('the connection is gone'));
    },
  };
}

describe('the calls of a cluster by endpoint', () => {
  let clock: FakeClock;
  let timing: CallTiming;
  let calls: ClusterCalls;
  beforeEach(() => {
    clock = new FakeClock();
    clock.advance(1000);
    timing = new CallTiming(clock);
    calls = new ClusterCalls('c', { clock, callTiming: timing });
  });
  afterEach(() => timing.release());

  const subchannel = (host: string) => new FakeSubchannel(1, { host, port: 80 }, {}, () => {});
  const endpoint = (address: string): EndpointState => ({
    addresses: [address],
    state: 'READY',
    health: 'HEALTHY',
    weight: 1,
  });
  const describeOne = (address: string) => {
    const policy = {
      policy: 'round_robin',
      state: 'READY',
      endpoints: [endpoint(address)],
    } as const;
    const described = calls.describe({ policy: 'priority', state: 'READY', children: [policy] });
    return described.children?.[0]?.endpoints?.[0];
  };

  it('counts calls in flight, and measures no latency that was not requested', () => {
    const one = calls.of(subchannel('10.0.0.1'));
    const started = start(one);
    expect(describeOne('10.0.0.1:80')).toEqual({ ...endpoint('10.0.0.1:80'), callsInFlight: 1 });
    clock.advance(20);
    started.end(0);
    expect(describeOne('10.0.0.1:80')).toEqual({ ...endpoint('10.0.0.1:80'), callsInFlight: 0 });
    expect(describeOne('10.0.0.2:80')).toEqual(endpoint('10.0.0.2:80'));
  });

  it('averages the latency for a minute after a request, the latest calls counting most', () => {
    const one = calls.of(subchannel('10.0.0.1'));
    const call = (latencyMs: number) => {
      const started = start(one);
      clock.advance(latencyMs);
      started.end(0);
    };
    timing.request();
    call(16);
    expect(describeOne('10.0.0.1:80')).toMatchObject({ callsInFlight: 0, latencyMs: 16 });
    call(32);
    expect(describeOne('10.0.0.1:80')).toMatchObject({ latencyMs: 17 });
    clock.advance(MINUTE_MS);
    call(100);
    expect(timing.isRequested).toBe(false);
    expect(describeOne('10.0.0.1:80')).not.toHaveProperty('latencyMs');
    // The first of another minute does not count with those of long ago.
    timing.request();
    call(8);
    expect(describeOne('10.0.0.1:80')).toMatchObject({ latencyMs: 8 });
  });

  it('serves every subchannel of an address, and forgets addresses that are gone when there are many', () => {
    const kept = calls.of(subchannel('10.0.0.1'));
    expect(calls.of(subchannel('10.0.0.1'))).toBe(kept);
    calls.update(makeEndpointSet(makeLocality('a', ['10.0.0.1:80'])));
    const busy = calls.of(subchannel('10.0.1.1'));
    start(busy);
    for (let i = 2; i < 200; i++) calls.of(subchannel(`10.0.1.${i}`));
    expect(calls.of(subchannel('10.0.0.1'))).toBe(kept);
    expect(calls.of(subchannel('10.0.1.1'))).toBe(busy);
    expect(describeOne('10.0.1.2:80')).toEqual(endpoint('10.0.1.2:80'));
  });

  describe('while calls are counted', () => {
    const UNAVAILABLE = 14;
    let rates: ProcessRates;
    let counting: Handle;
    beforeEach(() => {
      rates = new ProcessRates();
      timing = new CallTiming(clock);
      timing.rates = rates.channel('xds:///a');
      calls = new ClusterCalls('c', { clock, callTiming: timing });
      counting = rates.acquire(clock);
    });

    /** @returns `undefined` if nothing is counted. */
    function read(...addresses: readonly string[]): RateColumns | undefined {
      clock.advance(1000);
      const found = rates.counting?.get('xds:///a');
      const reading = found && new ReadRates(found, clock.monotonicMs(), 0);
      return addresses.length === 0
        ? reading?.ofClusters(['c'])
        : reading?.ofEndpoints('c', addresses);
    }

    it('counts attempts by endpoint and for the cluster, with their latency, unrequested', () => {
      for (const [host, code] of [['10.0.0.1', 0] as const, ['10.0.0.2', UNAVAILABLE] as const]) {
        const one = calls.of(subchannel(host));
        const started = start(one);
        clock.advance(20);
        started.end(code);
      }
      expect(read('10.0.0.1:80')).toMatchObject({ counts: 'attempts', rate: 1, errors: [] });
      expect(read('10.0.0.2:80')).toMatchObject({ rate: 0.5, errors: ['UNAVAILABLE 1'] });
      expect(read('10.0.0.1:80', '10.0.0.2:80')).toMatchObject({ inFlight: 0 });
      expect(Math.abs((read()?.p50 ?? 0) / 20 - 1)).toBeLessThan(0.13);
      expect(read('10.0.0.3:80')).toBeUndefined();
    });

    it('does not count an end whose start was not counted', () => {
      counting.release();
      timing.request();
      const one = calls.of(subchannel('10.0.0.1'));
      const started = start(one);
      clock.advance(1);
      rates.acquire(clock);
      started.end(0);
      expect(read()).toBeUndefined();
      start(one).end(0);
      expect(read()).toMatchObject({ inFlight: 0 });
    });

    it('takes back what could not be started', () => {
      const one = calls.of(subchannel('10.0.0.1'));
      start(one).withdraw();
      expect(read('10.0.0.1:80')).toMatchObject({ rate: 0, inFlight: 0 });
      expect(describeOne('10.0.0.1:80')).toMatchObject({ callsInFlight: 0 });
    });

    it('goes on with an endpoint that is removed and added, and forgets those of a cluster that ends', () => {
      const one = calls.of(subchannel('10.0.0.1'));
      start(one).end(0);
      calls.update(makeEndpointSet(makeLocality('a', ['10.0.0.2:80'])));
      calls.update(makeEndpointSet(makeLocality('a', ['10.0.0.1:80', '10.0.0.2:80'])));
      expect(calls.of(subchannel('10.0.0.1'))).toBe(one);
      expect(read('10.0.0.1:80')).toMatchObject({ rate: 1 });
      calls.release();
      expect(read('10.0.0.1:80')).toBeUndefined();
      expect(read()).toBeUndefined();
    });

    it('counts nothing any more when no page is served', () => {
      const one = calls.of(subchannel('10.0.0.1'));
      const started = start(one);
      counting.release();
      started.end(0);
      expect(timing.isRequested).toBe(false);
      expect(read()).toBeUndefined();
    });
  });
});
