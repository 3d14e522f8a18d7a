import { ConnectivityState } from '../../../src/grpc-js';
import { ConnectionAttempts } from '../../../src/lb/connections/connection-attempts';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { FakeLbHost } from '../../../src/testing/fake-lb-host';
import { ok } from '../../../src/util/result';
import { TimeSlices } from '../../../src/util/time-slices';
import { FakeClock } from '../../support/fake-clock';
import { LbHarness, makeEndpoint, singleLocality } from '../../support/lb-harness';

/** A clock on which each look at it takes so long that there is one step in a turn. */
class SlowerClock extends FakeClock {
  private looks = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + ++this.looks;
  }
}

describe('an update of very many endpoints', () => {
  const { TRANSIENT_FAILURE } = ConnectivityState;

  /** A policy, and how many attempts to connect it makes at once. */
  function setUpRoundRobin({ maxConnectionAttempts = 100 } = {}) {
    const harness = new LbHarness();
    const clock = new SlowerClock();
    const environment = { ...harness.environment, clock, timeSlices: new TimeSlices(clock) };
    const steady = new FakeClock();
    const limited = { ...environment, clock: steady, maxConnectionAttempts };
    const connectionAttempts = new ConnectionAttempts(limited);
    const host = new FakeLbHost({ ...environment, connectionAttempts });
    const policy = roundRobinPolicy.create(host);
    return {
      harness,
      host,
      update(...addresses: string[]) {
        const list = addresses.map((address) => makeEndpoint(address));
        const listed = ok(singleLocality(...list));
        const next = harness.completeUpdate({ config: new RoundRobinConfig(), endpoints: listed });
        harness.send(policy, next);
      },
      advance(turns: number) {
        for (let turn = 0; turn < turns; turn++) {
          clock.advance(1);
          steady.advance(1);
        }
      },
    };
  }
  const many = Array.from({ length: 1000 }, (_, i) => `10.1.${i >> 8}.${i % 256}:80`);

  it('has no connection started once a newer one that removes them is listed', () => {
    const { harness, host, update, advance } = setUpRoundRobin();
    update(...many);
    advance(400);
    expect(host.subchannels).toHaveLength(100);
    // Each attempt that is removed makes room for another one.
    update('10.0.0.1:80');
    advance(400);
    expect(host.held).toHaveLength(1);
    expect(host.subchannels).toHaveLength(101);
    expect(harness.errors).toEqual([]);
  });

  it('is connected to before the endpoints that it removes are released', () => {
    const { host, update, advance } = setUpRoundRobin();
    update(...many.slice(0, 90));
    advance(400);
    update('10.0.0.1:80');
    expect(host.subchannels).toHaveLength(91);
    expect(host.held.length).toBeGreaterThan(1);
    advance(400);
    expect(host.held).toHaveLength(1);
  });

  it('does not fail calls while endpoints are left that were not tried', () => {
    const { host, update, advance } = setUpRoundRobin({ maxConnectionAttempts: 1000 });
    update(...many);
    advance(1);
    const tried = host.subchannels.length;
    expect(tried).toBeGreaterThan(1);
    expect(tried).toBeLessThan(1000);
    for (const subchannel of host.subchannels) subchannel.setState(TRANSIENT_FAILURE, 'refused');
    const states = () => host.published.map(({ state }) => state);
    expect(states()).not.toContain(TRANSIENT_FAILURE);
    advance(400);
    for (const subchannel of host.subchannels.slice(tried)) {
      subchannel.setState(TRANSIENT_FAILURE, 'refused');
    }
    advance(1);
    expect(states().at(-1)).toBe(TRANSIENT_FAILURE);
  });

  it('leaves its connections to a newer one that waits for it', () => {
    const { harness, host, update, advance } = setUpRoundRobin();
    update(...many);
    expect(host.subchannels).toHaveLength(100);
    update('10.0.0.1:80', ...many.slice(-50));
    advance(400);
    expect(host.held).toHaveLength(51);
    // Those that the first one had begun with.
    expect(host.subchannels.length).toBeLessThanOrEqual(100 + 51);
    const opened = host.subchannels.map(({ address }) => 'host' in address && address.host);
    expect(opened).toContain('10.0.0.1');
    expect(harness.errors).toEqual([]);
  });
});
