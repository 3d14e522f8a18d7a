import { ConnectivityState } from '../../../src/grpc-js';
import { EndpointLeaf, type LeafOwner } from '../../../src/lb/endpoints/endpoint-leaf';
import { LbHarness, makeEndpoint, pick, pickAddress, pickError } from '../../support/lb-harness';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';

function setUp(addresses: readonly string[] = [A]) {
  const harness = new LbHarness();
  const changes: string[] = [];
  const policy: LeafOwner = {
    host: harness.host,
    onLeafChanged: (changed, previous) =>
      changes.push(`${ConnectivityState[previous]} -> ${ConnectivityState[changed.state]}`),
  };
  const leaf = new EndpointLeaf(policy, makeEndpoint(addresses), harness.options);
  return { harness, leaf, changes };
}

describe('EndpointLeaf', () => {
  it('creates no subchannel until it is requested to connect', () => {
    const { harness, leaf } = setUp();
    expect(leaf.state).toBe(IDLE);
    expect(harness.host.created.length).toBe(0);
  });

  it('connects, and picks the connection', async () => {
    const { harness, leaf, changes } = setUp();
    leaf.connect();
    await harness.settle();
    expect(harness.subchannel(A).connectRequests).toBe(1);
    harness.subchannel(A).connect();
    expect(leaf.state).toBe(READY);
    expect(pickAddress(leaf.picker)).toBe(A);
    expect(changes).toEqual(['IDLE -> CONNECTING', 'CONNECTING -> READY']);
  });

  it('starts one attempt for several requests', () => {
    const { harness, leaf } = setUp();
    harness.batch.run(() => {
      leaf.connect();
      leaf.connect();
    });
    leaf.connect();
    expect(harness.host.created.length).toBe(1);
  });

  it('uses a connection that is up already', () => {
    const { harness, leaf } = setUp();
    const options = {
      ...harness.options,
      'grpc-node.internal.pick-first.report_health_status': true,
    };
    harness.host.createSubchannel({ host: '10.0.0.1', port: 80 }, options).connect();
    leaf.connect();
    expect(leaf.state).toBe(READY);
  });

  it('is IDLE when the connection is lost, and connects again on request', async () => {
    const { harness, leaf } = setUp();
    leaf.connect();
    harness.subchannel(A).connect();
    harness.subchannel(A).disconnect();
    expect(leaf.state).toBe(IDLE);
    await harness.settle();
    const before = harness.host.created.length;
    leaf.connect();
    expect(leaf.state).toBe(CONNECTING);
    expect(harness.host.created.length).toBe(before + 1);
  });

  it('keeps the error of the last attempt, and stays failed while it tries again', () => {
    const { harness, leaf, changes } = setUp();
    leaf.connect();
    harness.subchannel(A).fail('connection refused');
    const expected = 'No connection established. Last error: connection refused';
    expect(leaf.state).toBe(TRANSIENT_FAILURE);
    expect(leaf.errorMessage).toBe(expected);
    expect(pickError(leaf.picker)).toBe(expected);
    harness.subchannel(A).setState(IDLE);
    harness.subchannel(A).setState(CONNECTING);
    expect(leaf.state).toBe(TRANSIENT_FAILURE);
    expect(changes).toEqual(['IDLE -> CONNECTING', 'CONNECTING -> TRANSIENT_FAILURE']);
    harness.subchannel(A).setState(READY);
    expect(leaf.state).toBe(READY);
    expect(leaf.errorMessage).toBeNull();
  });

  it('does not report a failure again unless the reason is another', () => {
    const { harness, leaf, changes } = setUp();
    leaf.connect();
    harness.subchannel(A).fail('connection refused');
    const before = changes.length;
    harness.subchannel(A).fail('connection refused');
    expect(changes.length).toBe(before);
    harness.subchannel(A).fail('no route to host');
    expect(changes.length).toBe(before + 1);
    expect(leaf.errorMessage).toBe('No connection established. Last error: no route to host');
  });

  it('requests re-resolution when all addresses have failed', () => {
    const { harness, leaf } = setUp([A, B]);
    leaf.connect();
    harness.subchannel(A).fail('connection refused');
    expect(harness.host.reresolutionRequests).toBe(0);
    harness.subchannel(B).fail('connection refused');
    expect(harness.host.reresolutionRequests).toBe(1);
  });

  it('does not touch the connection for another object with the same addresses', () => {
    const { harness, leaf } = setUp([A, B]);
    leaf.connect();
    harness.subchannel(A).connect();
    const before = harness.host.created.length;
    const update = makeEndpoint([A, B], { weight: 7 });
    leaf.update(update, harness.options);
    expect(leaf.endpoint).toBe(update);
    expect(harness.host.created.length).toBe(before);
  });

  it('keeps its connection when only the order of the addresses changed', () => {
    const { harness, leaf } = setUp([A, B]);
    leaf.connect();
    harness.subchannel(A).connect();
    leaf.update(makeEndpoint([B, A]), harness.options);
    expect(leaf.state).toBe(READY);
    expect(pickAddress(leaf.picker)).toBe(A);
    expect(harness.subchannel(A).closed).toBe(false);
  });

  it('tries the addresses in the newest order, also after it was idle', async () => {
    const { harness, leaf } = setUp([A, B]);
    // 1. Connected to A, then idle.
    leaf.connect();
    await harness.settle();
    harness.subchannel(A).connect();
    harness.subchannel(A).disconnect();
    // 2. The order changes while it is idle.
    leaf.update(makeEndpoint([B, A]), harness.options);
    expect(leaf.state).toBe(IDLE);
    // 3. The next attempt begins with B.
    leaf.connect();
    await harness.settle();
    expect(harness.subchannel(B).connectRequests).toBe(1);
  });

  it('gets new subchannels for new options', () => {
    const { harness, leaf } = setUp();
    leaf.connect();
    leaf.update(leaf.endpoint, { 'grpc.primary_user_agent': 'other' });
    expect(harness.host.subchannels.length).toBe(2);
    expect(harness.host.held.length).toBe(1);
  });

  it('reports nothing and releases everything once destroyed', () => {
    // grpc-js's pick_first leaves its 250 ms timer running, and reports when it fires.
    jest.useFakeTimers();
    try {
      const { harness, leaf, changes } = setUp([A, B]);
      leaf.connect();
      const before = changes.length;
      leaf.destroy();
      leaf.destroy();
      leaf.connect();
      expect(harness.host.held.length).toBe(0);
      jest.advanceTimersByTime(1000);
      expect(changes.length).toBe(before);
      expect(harness.host.reresolutionRequests).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('waits for the next turn to try again when the backoff is over', async () => {
    const { harness, leaf } = setUp();
    const { connectionAttempts } = harness.environment;
    const request = jest.spyOn(connectionAttempts, 'request').mockImplementation(() => {});
    // 1. The first turn.
    leaf.connect();
    expect(harness.host.created.length).toBe(0);
    const attempt = request.mock.lastCall?.[0];
    attempt?.start();
    await harness.settle();
    expect(harness.subchannel(A).connectRequests).toBe(1);
    // 2. It fails; the backoff passes.
    harness.subchannel(A).fail('connection refused');
    expect(request).toHaveBeenCalledTimes(1);
    harness.subchannel(A).setState(IDLE);
    await harness.settle();
    expect(request).toHaveBeenCalledTimes(2);
    expect(harness.subchannel(A).connectRequests).toBe(1);
    // 3. The second turn.
    attempt?.start();
    expect(harness.subchannel(A).connectRequests).toBe(2);
    harness.subchannel(A).connect();
    expect(leaf.state).toBe(READY);
  });

  it('tries all its addresses in one turn', async () => {
    const { harness, leaf } = setUp([A, B]);
    const request = jest.spyOn(harness.environment.connectionAttempts, 'request');
    leaf.connect();
    await harness.settle();
    harness.subchannel(A).fail('connection refused');
    await harness.settle();
    expect(harness.subchannel(B).connectRequests).toBe(1);
    expect(request).toHaveBeenCalledTimes(1);
  });

  it('ends its turn at once if another channel connects the subchannel already', () => {
    const { harness, leaf } = setUp();
    const { connectionAttempts } = harness.environment;
    leaf.connect();
    harness.subchannel(A).fail('connection refused');
    const request = jest.spyOn(connectionAttempts, 'request').mockImplementation(() => {});
    const ended = jest.spyOn(connectionAttempts, 'ended');
    harness.subchannel(A).setState(IDLE);
    const attempt = request.mock.lastCall?.[0];
    harness.subchannel(A).setState(CONNECTING);
    const before = harness.subchannel(A).connectRequests;
    attempt?.start();
    expect(harness.subchannel(A).connectRequests).toBe(before);
    expect(ended).toHaveBeenCalledTimes(1);
    harness.subchannel(A).setState(READY);
    expect(leaf.state).toBe(READY);
  });

  it('fails at once while the process is out of file descriptors, until it is connected', async () => {
    const { harness, leaf, changes } = setUp();
    // 1. Another endpoint finds no descriptor.
    const policy: LeafOwner = { host: harness.host, onLeafChanged() {} };
    const other = new EndpointLeaf(policy, makeEndpoint([B]), harness.options);
    other.connect();
    harness.subchannel(B).fail('Error: connect EMFILE 10.0.0.2:80');
    // 2. This one does not try.
    leaf.connect();
    expect(harness.host.created.length).toBe(1);
    expect(leaf.errorMessage).toBe(
      'connections cannot be opened: too many open files in this process (EMFILE)',
    );
    // 3. Its turn comes after a second.
    harness.clock.advance(1000);
    await harness.settle();
    expect(harness.subchannel(A).connectRequests).toBe(1);
    expect(leaf.state).toBe(TRANSIENT_FAILURE);
    harness.subchannel(A).connect();
    expect(changes).toEqual(['IDLE -> TRANSIENT_FAILURE', 'TRANSIENT_FAILURE -> READY']);
    expect(pickAddress(leaf.picker)).toBe(A);
  });

  it('picks the subchannel that its host created', () => {
    const { harness, leaf } = setUp();
    leaf.connect();
    harness.subchannel(A).connect();
    const { subchannel } = pick(leaf.picker);
    expect(subchannel).toBe(harness.subchannel(A));
  });

  it('withdraws its attempt when it is destroyed', () => {
    const { harness, leaf } = setUp();
    const deleted = jest.spyOn(harness.environment.connectionAttempts, 'delete');
    leaf.connect();
    leaf.destroy();
    expect(deleted).toHaveBeenCalledTimes(1);
  });
});
