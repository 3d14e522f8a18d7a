import { ConnectivityState } from '../../../src/grpc-js';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { waitOf } from '../../../src/lb/connectivity';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import { err } from '../../../src/util/result';
import {
  describePick,
  LbHarness,
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  pick,
  pickAddress,
  pickError,
  singleLocality,
} from '../../support/lb-harness';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '10.0.0.3:80';
const config = new RoundRobinConfig();

function setUp(...addresses: string[]) {
  const harness = new LbHarness();
  const policy = harness.create(roundRobinPolicy);
  harness.updateEndpoints(policy, config, singleLocality(...addresses));
  const pickThree = () => [1, 2, 3].map(() => pickAddress(harness.last.picker));
  return { harness, policy, pickThree };
}

describe('round_robin', () => {
  it('takes the endpoints that are READY in turn', () => {
    const { harness, pickThree } = setUp(A, B, C);
    for (const address of [A, C]) harness.subchannel(address).connect();
    expect(pickThree()).toEqual([A, C, A]);
  });

  it('begins at random', () => {
    const { harness, pickThree } = setUp(A, B, C);
    harness.random = 0.99;
    harness.batch.run(() => {
      for (const address of [A, B, C]) harness.subchannel(address).connect();
    });
    expect(pickThree()).toEqual([C, A, B]);
  });

  it('keeps the same picker while connections change', () => {
    const { harness, pickThree } = setUp(A, B, C);
    harness.subchannel(A).connect();
    const before = harness.host.published.length;
    for (const address of [B, C]) harness.subchannel(address).connect();
    expect(pickThree().sort()).toEqual([A, B, C]);
    harness.subchannel(A).disconnect();
    expect(new Set(pickThree())).toEqual(new Set([B, C]));
    expect(harness.host.published.length).toBe(before);
  });

  it('queues calls that pick before the loss of the last connection was published', () => {
    const { harness } = setUp(A);
    harness.subchannel(A).connect();
    const { picker } = harness.last;
    harness.subchannel(A).disconnect();
    expect(describePick(pick(picker))).toBe('QUEUE');
  });

  it('balances over the endpoints of all localities', () => {
    const { harness, policy, pickThree } = setUp();
    const set = makeEndpointSet(makeLocality('x', [A]), makeLocality('y', [B, C]));
    harness.updateEndpoints(policy, config, set);
    for (const address of [A, B, C]) harness.subchannel(address).connect();
    expect(pickThree()).toEqual([A, B, C]);
  });

  it('publishes nothing when an endpoint that is not in use keeps failing', () => {
    const { harness } = setUp(A, B);
    harness.subchannel(A).connect();
    const before = harness.host.published.length;
    harness.subchannel(B).fail('connection refused');
    harness.subchannel(B).fail('no route to host');
    expect(harness.host.published.length).toBe(before);
  });

  it('drops an endpoint from the picker and reconnects when its connection is lost', async () => {
    const { harness, pickThree } = setUp(A, B);
    for (const address of [A, B]) harness.subchannel(address).connect();
    await harness.settle();
    const { subchannels } = harness.host;
    const before = subchannels.length;
    harness.subchannel(A).disconnect();
    expect(pickThree()).toEqual([B, B, B]);
    expect(harness.host.reresolutionRequests).toBe(1);
    await harness.settle();
    expect(subchannels.slice(before).map((subchannel) => subchannel.getAddress())).toEqual([A]);
    expect(subchannels[before]?.connectRequests).toBe(1);
  });

  it('is CONNECTING, not IDLE, when its only connection is lost', () => {
    const { harness } = setUp(A);
    harness.subchannel(A).connect();
    harness.subchannel(A).disconnect();
    expect(harness.host.published.map(({ state }) => state)).toEqual([
      CONNECTING,
      READY,
      CONNECTING,
    ]);
  });

  const where = (address: string, more = '') =>
    `(${address} in {region="r", zone="", sub_zone=""}${more})`;

  it('fails calls with the last error of each distinct cause, its endpoint and locality', () => {
    const { harness } = setUp(A, B, C);
    harness.subchannel(A).fail('connection refused');
    harness.subchannel(B).fail('connection refused');
    expect(harness.last.state).toBe(CONNECTING);
    harness.subchannel(C).fail('no route to host');
    const text =
      'No connection established. Last errors: ' +
      `no route to host ${where(C)}; connection refused ${where(A, ' and 1 more')}`;
    expect(pickError(harness.last.picker)).toBe(text);
    expect(harness.last.errorMessage).toBe(text);
    // An endpoint is named with its last error only.
    harness.subchannel(A).fail('certificate expired');
    expect(pickError(harness.last.picker)).toBe(
      'No connection established. Last errors: ' +
        `certificate expired ${where(A)}; no route to host ${where(C)}; ` +
        `connection refused ${where(B)}`,
    );
  });

  it('shows of an error from the network no control characters, and not more than 1000 characters', () => {
    const { harness } = setUp(A, B);
    harness.subchannel(A).fail(`not valid for \n\u001b[2J${'x'.repeat(100_000)}`);
    const waiting = waitOf(pick(harness.last.picker)) ?? '';
    harness.subchannel(B).fail('no route to host');
    for (const text of [waiting, pickError(harness.last.picker)]) {
      expect(text).toContain('not valid for \\n\\x1b[2Jxxx');
      expect(text.length).toBeLessThan(1500);
    }
  });

  it('forgets the errors of endpoints that are removed', () => {
    const { harness, policy } = setUp(A, B);
    harness.subchannel(A).fail('connection refused');
    harness.subchannel(B).fail('no route to host');
    harness.updateEndpoints(policy, config, singleLocality(B));
    expect(pickError(harness.last.picker)).toBe(
      `No connection established. Last error: no route to host ${where(B)}`,
    );
  });

  it('says of a call that waits which endpoint has been connecting for how long', () => {
    const { harness } = setUp(A, B);
    harness.subchannel(A).setState(CONNECTING);
    harness.clock.advance(4200);
    harness.subchannel(B).fail('connection refused');
    expect(waitOf(pick(harness.last.picker))).toBe(
      `no endpoint is connected (1 of 2 connecting); ${A} in {region="r", zone="", sub_zone=""} ` +
        `has been connecting for 4.2 s: check the network, and that it serves gRPC; Last error: connection refused ${where(B)}`,
    );
  });

  it('names what is missing when there are no endpoints', () => {
    const { harness } = setUp();
    expect(pickError(harness.last.picker)).toBe('No endpoints to connect to');
  });

  it('passes on the error there is instead of endpoints', () => {
    const harness = new LbHarness();
    const policy = harness.create(roundRobinPolicy);
    harness.update(policy, { config, endpoints: err('no such name') });
    expect(harness.last.state).toBe(TRANSIENT_FAILURE);
    expect(pickError(harness.last.picker)).toBe('no such name');
  });

  it('does not publish when only the weight of an endpoint that is connecting changed', () => {
    const { harness, policy } = setUp(A);
    const before = harness.host.published.length;
    harness.updateEndpoints(policy, config, singleLocality(makeEndpoint(A, { weight: 2 })));
    expect(harness.host.published.length).toBe(before);
    harness.subchannel(A).setState(IDLE);
    expect(harness.last.state).toBe(CONNECTING);
  });
});
