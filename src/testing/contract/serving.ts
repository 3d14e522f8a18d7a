import { strict as assert } from 'node:assert';
import { ConnectivityState } from '../../grpc-js';
import { A, B, C, type Behaviours, type LbPolicyContract, type Subject } from './subject';

/** The behaviour with reachable endpoints. */
export function servingBehaviours(contract: LbPolicyContract): Behaviours {
  return {
    ...always,
    ...(contract.connectsAtOnce ? connectsAtOnce : connectsForCalls),
    ...(contract.usesEveryEndpoint ? usesEveryEndpoint : usesOneEndpoint),
  };
}

const always: Behaviours = {
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

const connectsAtOnce: Behaviours = {
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

const usesEveryEndpoint: Behaviours = {
  'uses every endpoint': (subject) => expectUsed(subject, 3),
};

const usesOneEndpoint: Behaviours = {
  'uses one endpoint only': (subject) => expectUsed(subject, 1),
};

function expectConnecting(subject: Subject, expected: boolean): void {
  assert.equal(subject.connectRequests > 0, expected, 'whether a connection was requested');
}

async function expectUsed(subject: Subject, count: number): Promise<void> {
  await subject.serve([A, B, C]);
  assert.equal(subject.pickMany().size, count, 'endpoints that calls went to');
}
