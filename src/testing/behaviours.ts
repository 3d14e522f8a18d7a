import { strict as assert } from 'node:assert';
import { ConnectivityState } from '../grpc-js';
import { A, B, C, type Behaviours, type LbPolicyContract, type Subject } from './subject';
import type { LbUpdate } from '../lb/lb-policy';
import { makeEndpoint } from './lb-harness';

/** Returns the behaviour that a policy must have. */
export function behavioursOf({ connectsAtOnce, usesEveryEndpoint }: LbPolicyContract): Behaviours {
  return {
    ...servesAlways,
    ...(connectsAtOnce ? connectsOnUpdate : connectsForCalls),
    ...(usesEveryEndpoint ? usesAll : usesOne),
    ...updatesAlways,
    ...(usesEveryEndpoint && createsOneOfMany),
    ...duringPublication,
    ...failingBehaviours,
    ...endingBehaviours,
  };
}

/** With reachable endpoints. */
const servesAlways: Behaviours = {
  async 'does nothing before its first update'(subject) {
    subject.run(() => subject.policy.exitIdle());
    subject.run(() => subject.policy.resetBackoff());
    await subject.harness.settle();
    assert.equal(subject.harness.host.created.length, 0, 'connections created');
    subject.expectNoErrors();
  },
  async 'queues calls until a connection is up, then uses it'(subject) {
    subject.send(subject.makeUpdate([A]));
    subject.expectQueue();
    await subject.connectAll();
    subject.expectAddress(A);
  },
  async 'returns to READY after the connection was closed'(subject) {
    await subject.serve([A]);
    subject.run(() => subject.harness.subchannel(A).disconnect());
    assert.notEqual(subject.harness.last.state, ConnectivityState.READY);
    await subject.connectAll();
    subject.expectAddress(A);
  },
  async 'publishes one picker however many connections change in one batch'(subject) {
    subject.send(subject.makeUpdate([A, B, C]));
    await subject.requestConnections();
    const before = subject.publications;
    subject.run(() => subject.forEachUnconnected((subchannel) => subchannel.connect()));
    assert.equal(subject.publications - before, 1, 'pickers published');
  },
};

const connectsOnUpdate: Behaviours = {
  async 'connects on its first update'(subject) {
    subject.send(subject.makeUpdate([A]));
    await subject.harness.settle();
    expectConnecting(subject, true);
  },
};

const connectsForCalls: Behaviours = {
  async 'connects when a call is picked'(subject) {
    subject.send(subject.makeUpdate([A]));
    await subject.harness.settle();
    expectConnecting(subject, false);
    await subject.wait();
    expectConnecting(subject, true);
  },
};

const usesAll: Behaviours = {
  'uses every endpoint': (subject) => expectUsed(subject, 3),
};

const usesOne: Behaviours = {
  'uses one endpoint only': (subject) => expectUsed(subject, 1),
};

function expectConnecting(subject: Subject, expected: boolean): void {
  assert.equal(subject.connectRequests > 0, expected, 'whether a connection was requested');
}

async function expectUsed(subject: Subject, count: number): Promise<void> {
  await subject.serve([A, B, C]);
  assert.equal(subject.pickMany().size, count, 'endpoints that calls went to');
}

/** When endpoints change. */
const updatesAlways: Behaviours = {
  async 'does nothing on an identical update'(subject) {
    const update = await subject.serve([A, B]);
    const before = subject.counts;
    subject.send(update);
    subject.send({ ...update });
    await subject.harness.settle();
    assert.deepEqual(subject.counts, before, 'subchannels, publications and requests');
  },
  async 'keeps the connection of an endpoint that stays, and releases that of a removed one'(
    subject,
  ) {
    await subject.serve([A, B]);
    const kept = subject.pickConnection();
    const [stays, removed] = kept.getAddress() === A ? [A, B] : [B, A];
    subject.send(subject.makeUpdate([stays, C]));
    await subject.connectAll();
    assert.equal(kept.closed, false, 'the connection that should stay was closed');
    const seen = subject.pickMany();
    assert.ok(seen.has(stays), 'no call went to the endpoint that stays');
    assert.ok(!seen.has(removed), 'a call went to the removed endpoint');
    assert.ok(!subject.references(removed), 'the connection to the removed endpoint is still held');
  },
  async 'keeps the connection of an endpoint whose addresses are listed in another order'(subject) {
    await subject.serve([makeEndpoint([A, B])]);
    const connected = subject.pickConnection();
    subject.send(subject.makeUpdate([makeEndpoint([B, A])]));
    await subject.harness.settle();
    assert.equal(connected.closed, false, 'the connection was closed');
    subject.expectAddress(connected.getAddress());
  },
  async 'moves to endpoints that are all new'(subject) {
    await subject.serve([A]);
    subject.send(subject.makeUpdate([B]));
    await subject.connectAll();
    subject.expectAddress(B);
    assert.ok(!subject.references(A), 'the connection to the removed endpoint is still held');
  },
};

const duringPublication: Behaviours = {
  async 'accepts picks of a picker while it is replaced'(subject) {
    await subject.serve([A, B]);
    const { picker } = subject.harness.last;
    subject.send(subject.makeUpdate([A, C]));
    assert.doesNotThrow(() => subject.pick(picker));
    subject.expectNoErrors();
  },
  async 'accepts an update from inside a publication'(subject) {
    let pending: LbUpdate | undefined = subject.makeUpdate([B]);
    subject.harness.host.onPublished = () => {
      const update = pending;
      pending = undefined;
      if (update !== undefined) subject.send(update);
    };
    subject.send(subject.makeUpdate([A]));
    await subject.connectAll();
    subject.expectAddress(B);
    subject.expectNoErrors();
  },
};

const createsOneOfMany: Behaviours = {
  async 'creates one subchannel when one of many endpoints is replaced'(subject) {
    const many = Array.from({ length: 300 }, (_, i) =>
      makeEndpoint(`10.1.${i >> 8}.${i & 255}:80`),
    );
    await subject.serve(many);
    const before = subject.harness.host.created.length;
    subject.send(subject.makeUpdate([...many.slice(0, -1), makeEndpoint(C)]));
    await subject.connectAll();
    const { created, held } = subject.harness.host;
    assert.equal(created.length - before, 1, 'connections created');
    assert.equal(held.length, many.length, 'connections held');
  },
};

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

/** Without endpoints, or without reachable ones. */
const failingBehaviours: Behaviours = {
  'fails calls with the error if it never had endpoints'(subject) {
    subject.send(subject.makeErrorUpdate('no such name'));
    subject.expectFailure('no such name');
  },
  async 'recovers from an error with the first endpoints'(subject) {
    subject.send(subject.makeErrorUpdate('no such name'));
    await subject.serve([A]);
    subject.expectAddress(A);
  },
  async 'keeps its endpoints when an error follows'(subject) {
    await subject.serve([A]);
    subject.send(subject.makeErrorUpdate('no such name'));
    await subject.harness.settle();
    subject.expectAddress(A);
    assert.equal(subject.harness.subchannel(A).closed, false, 'the connection was closed');
  },
  'fails calls when there are no endpoints'(subject) {
    subject.send(subject.makeUpdate([]));
    subject.expectFailure('endpoints');
  },
  async 'releases its endpoints when the list becomes empty'(subject) {
    await subject.serve([A, B]);
    subject.send(subject.makeUpdate([]));
    subject.expectState(TRANSIENT_FAILURE);
    assert.equal(subject.harness.host.held.length, 0, 'connections held');
  },
  async 'fails calls with the connection error'(subject) {
    subject.send(subject.makeUpdate([A]));
    await subject.failAll('connection refused');
    subject.expectFailure('connection refused');
    assert.match(subject.harness.last.errorMessage ?? '', /connection refused/);
  },
  async 'stays in TRANSIENT_FAILURE until a connection is up'(subject) {
    subject.send(subject.makeUpdate([A, B]));
    await subject.failAll('connection refused');
    subject.expectState(TRANSIENT_FAILURE);
    subject.run(() => subject.forEachUnconnected((s) => s.setState(IDLE)));
    subject.run(() => subject.forEachUnconnected((s) => s.setState(CONNECTING)));
    subject.expectState(TRANSIENT_FAILURE);
    const last = subject.harness.host.held.at(-1);
    if (last === undefined) assert.fail('no connection is attempted');
    subject.run(() => last.setState(READY));
    subject.expectAddress(last.getAddress());
  },
  async 'requests re-resolution when every connection fails'(subject) {
    subject.send(subject.makeUpdate([A]));
    await subject.failAll('connection refused');
    assert.ok(subject.harness.host.reresolutionRequests > 0, 're-resolution was not requested');
  },
};

const AN_HOUR_MS = 3_600_000;

/** When a policy is destroyed. */
const endingBehaviours: Behaviours = {
  async 'releases everything when destroyed'(subject) {
    await subject.serve([A, B]);
    const connection = subject.pickConnection();
    subject.run(() => connection.disconnect());
    subject.run(() => subject.policy.destroy());
    await subject.harness.settle();
    subject.expectAllReleased();
  },
  async 'publishes no state after it was destroyed'(subject) {
    await subject.serve([A]);
    const { clock, host, last } = subject.harness;
    subject.run(() => {
      subject.harness.subchannel(A).disconnect();
      subject.policy.destroy();
    });
    const before = subject.counts;
    subject.pick(last.picker);
    for (const subchannel of host.subchannels) subchannel.connect();
    await subject.harness.settle();
    clock.advance(AN_HOUR_MS);
    await subject.harness.settle();
    assert.deepEqual(subject.counts, before, 'subchannels, publications and requests');
    subject.expectNoErrors();
  },
  'does not publish a due state when it was destroyed'(subject) {
    const update = subject.makeErrorUpdate('no such name');
    subject.run(() => {
      subject.policy.update(update.config, update.endpoints, update.context);
      subject.policy.destroy();
    });
    subject.run(() => undefined);
    assert.equal(subject.publications, 0, 'pickers published');
    subject.expectNoErrors();
  },
  async 'releases everything when destroyed while it connects'(subject) {
    subject.send(subject.makeUpdate([A, B]));
    subject.run(() => subject.policy.exitIdle());
    subject.run(() => subject.policy.destroy());
    await subject.harness.settle();
    subject.expectAllReleased();
  },
  async 'can be destroyed from inside a publication'(subject) {
    const { host } = subject.harness;
    host.onPublished = () => subject.run(() => subject.policy.destroy());
    subject.send(subject.makeUpdate([A]));
    await subject.harness.settle();
    assert.equal(subject.publications, 1, 'pickers published');
    assert.equal(host.held.length, 0, 'connections held');
    subject.expectNoErrors();
  },
  'can be destroyed twice, and before any update'(subject) {
    subject.run(() => subject.policy.destroy());
    subject.run(() => subject.policy.destroy());
    assert.equal(subject.publications, 0, 'pickers published');
    subject.expectNoErrors();
  },
};
