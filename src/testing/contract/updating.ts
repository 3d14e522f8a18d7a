import { strict as assert } from 'node:assert';
import type { LbUpdate } from '../../lb/lb-policy';
import { makeEndpoint } from '../lb-endpoints';
import { A, B, C, type Behaviours, type LbPolicyContract } from './subject';

/** The behaviour when endpoints change. */
export function updatingBehaviours(contract: LbPolicyContract): Behaviours {
  return { ...always, ...(contract.usesEveryEndpoint && createsOneOfMany), ...duringPublication };
}

const always: Behaviours = {
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
