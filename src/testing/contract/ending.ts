import { strict as assert } from 'node:assert';
import { A, B, type Behaviours } from './subject';

const AN_HOUR_MS = 3_600_000;

/** The behaviour when a policy is destroyed. */
export const endingBehaviours: Behaviours = {
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
      subject.policy.update(update);
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
