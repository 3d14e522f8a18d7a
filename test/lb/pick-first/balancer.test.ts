import { ConnectivityState } from '../../../src/grpc-js';
import { waitOf } from '../../../src/lb/connectivity';
import { createPickFirstPolicyType } from '../../../src/lb/pick-first/balancer';
import { parsePickFirstConfig, PickFirstConfig } from '../../../src/lb/pick-first/config';
import { err, ok } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import {
  LbHarness,
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  pick,
  pickAddress,
  pickError,
  singleLocality,
} from '../../support/lb-harness';

const { CONNECTING, IDLE, READY } = ConnectivityState;

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const inOrder = new PickFirstConfig(false);
const shuffled = new PickFirstConfig(true);

function setUp(weightedShuffling = true) {
  const harness = new LbHarness();
  const policy = harness.create(createPickFirstPolicyType({ flags: { weightedShuffling } }));
  return { harness, policy };
}

describe('pick_first', () => {
  it('tries the endpoints of all localities in order', async () => {
    const { harness, policy } = setUp();
    const set = makeEndpointSet(makeLocality('x', [A]), makeLocality('y', [B]));
    harness.updateEndpoints(policy, inOrder, set);
    await harness.settle();
    expect(harness.subchannel(A).connectRequests).toBe(1);
    expect(harness.subchannel(B).connectRequests).toBe(0);
    harness.subchannel(A).fail('connection refused');
    harness.subchannel(B).connect();
    expect(pickAddress(harness.last.picker)).toBe(B);
    expect(harness.host.held.map((subchannel) => subchannel.getAddress())).toEqual([B]);
  });

  it.each([
    ['in order', inOrder],
    ['shuffled', shuffled],
  ])('tries a thousand endpoints of more, %s, and logs that once', (_, config) => {
    const { harness, policy } = setUp();
    const lines: string[] = [];
    const log = jest.spyOn(harness.environment.logger, 'error');
    log.mockImplementation((text) => void lines.push(text()));
    const addresses = Array.from({ length: 1500 }, (__, i) => `127.0.0.1:${1000 + i}`);
    harness.updateEndpoints(policy, config, singleLocality(...addresses));
    harness.updateEndpoints(policy, config, singleLocality(...addresses.slice(1)));
    log.mockRestore();
    expect(harness.host.held).toHaveLength(1000);
    expect(lines).toEqual([
      'pick_first: the first 1000 of 1500 endpoints are tried: use another policy for so many',
    ]);
  });

  it('says of a call that waits which addresses have been tried for how long', async () => {
    const { harness, policy } = setUp();
    harness.updateEndpoints(policy, inOrder, singleLocality(A, B));
    await harness.settle();
    harness.clock.advance(2500);
    expect(waitOf(pick(harness.last.picker))).toBe(
      `no endpoint is connected; ${A}, ${B}: connecting for 2.5 s: check the network, and that it serves gRPC`,
    );
  });

  it.each([
    [1, 3, B],
    [3, 1, A],
  ])('draws by the weight of the locality too: %s to %s', async (first, second, expected) => {
    const { harness, policy } = setUp();
    // By their own weights, and with the same draw for both, A would always come first.
    harness.random = 0.5;
    const set = makeEndpointSet(
      makeLocality('x', [makeEndpoint(A, { weight: 9 })], first),
      makeLocality('y', [B], second),
    );
    harness.updateEndpoints(policy, shuffled, set);
    await harness.settle();
    expect(harness.subchannel(expected).connectRequests).toBe(1);
    expect(harness.subchannel(expected === A ? B : A).connectRequests).toBe(0);
  });

  it('tries a shuffled list in the order of the draw', async () => {
    const { harness, policy } = setUp();
    // The second endpoint has the greater weight; an equal draw favours it.
    harness.random = 0.5;
    const heavy = makeEndpoint(B, { weight: 9 });
    harness.updateEndpoints(policy, shuffled, singleLocality(A, heavy));
    await harness.settle();
    expect(harness.subchannel(B).connectRequests).toBe(1);
    expect(harness.subchannel(A).connectRequests).toBe(0);
  });

  it('does not draw again while the endpoints stay the same', () => {
    const { harness, policy } = setUp();
    const endpoints = [makeEndpoint(A), makeEndpoint(B)];
    harness.updateEndpoints(policy, shuffled, singleLocality(...endpoints));
    const before = harness.host.created.length;
    harness.updateEndpoints(policy, shuffled, singleLocality(...endpoints));
    harness.updateEndpoints(policy, new PickFirstConfig(true), singleLocality(...endpoints));
    expect(harness.host.created.length).toBe(before);
  });

  it('stays IDLE after the connection was lost, until a call is picked', async () => {
    const { harness, policy } = setUp();
    harness.updateEndpoints(policy, inOrder, singleLocality(A));
    harness.subchannel(A).connect();
    harness.subchannel(A).disconnect();
    expect(harness.last.state).toBe(IDLE);
    const before = harness.host.created.length;
    await harness.settle();
    expect(harness.host.created.length).toBe(before);
    pick(harness.last.picker);
    await harness.settle();
    expect(harness.last.state).toBe(CONNECTING);
  });

  it('stays IDLE when an error about the endpoints follows', () => {
    const { harness, policy } = setUp();
    harness.updateEndpoints(policy, inOrder, singleLocality(A));
    harness.subchannel(A).connect();
    harness.subchannel(A).disconnect();
    harness.update(policy, { config: inOrder, endpoints: err('no such name') });
    expect(harness.last.state).toBe(IDLE);
  });

  it('does not connect for a picker that a call uses after the policy was destroyed', async () => {
    const { harness, policy } = setUp();
    harness.updateEndpoints(policy, inOrder, singleLocality(A));
    harness.subchannel(A).connect();
    harness.subchannel(A).disconnect();
    const before = harness.host.created.length;
    harness.batch.run(() => policy.destroy());
    pick(harness.last.picker);
    await harness.settle();
    expect(harness.host.created.length).toBe(before);
  });

  it('fails calls with the error of the connection, without an empty resolution note', () => {
    const { harness, policy } = setUp();
    const endpoints = ok(singleLocality(makeEndpoint(A)));
    harness.update(policy, { config: inOrder, endpoints });
    harness.subchannel(A).fail('connection refused');
    const text = 'No connection established. Last error: connection refused';
    expect(pickError(harness.last.picker)).toBe(text);
    expect(harness.last.errorMessage).toBe(text);
  });

  it('is READY at once if an endpoint is connected already', () => {
    const { harness, policy } = setUp();
    harness.host.createSubchannel({ host: '10.0.0.2', port: 80 }, harness.options).connect();
    harness.updateEndpoints(policy, inOrder, singleLocality(A, B));
    expect(harness.host.published.map(({ state }) => state)).toEqual([READY]);
    expect(pickAddress(harness.last.picker)).toBe(B);
  });
});

describe('parsePickFirstConfig', () => {
  it.each([
    [{}, false],
    [{ shuffleAddressList: true }, true],
    [{ shuffleAddressList: false, unknown: 1 }, false],
  ])('reads %j', (json, expected) => {
    const config = parsePickFirstConfig(json, Violations.root());
    expect(config?.shuffleAddressList).toBe(expected);
  });

  it.each([
    [null, 'must be an object'],
    [{ shuffleAddressList: 'yes' }, 'shuffleAddressList: must be a boolean'],
  ])('refuses %j', (json, violation) => {
    const violations = Violations.root();
    expect(parsePickFirstConfig(json, violations)).toBeUndefined();
    expect(violations.all).toEqual([violation]);
  });
});
