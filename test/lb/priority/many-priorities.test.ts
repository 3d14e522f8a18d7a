import { ConnectivityState } from '../../../src/grpc-js';
import { createFailurePicker, queuePicker } from '../../../src/lb/connectivity';
import type { LbHost, LbPolicy, LbPolicyType } from '../../../src/lb/lb-policy';
import { PriorityConfig } from '../../../src/lb/priority/config';
import { countWork } from '../../support/count-work';
import { LbHarness } from '../../support/lb-harness';
import { priorityPolicy } from '../../support/lb-policies';

const { CONNECTING, READY, TRANSIENT_FAILURE } = ConnectivityState;

/** A policy that fails on its first update, from inside it. */
class FailingPolicyType implements LbPolicyType {
  readonly name = 'failing';
  readonly hosts: LbHost[] = [];
  updates = 0;

  parseConfig() {
    return { policyName: this.name };
  }

  create(host: LbHost): LbPolicy {
    this.hosts.push(host);
    return {
      update: () => {
        if (this.updates++ < this.hosts.length) {
          host.updateState(TRANSIENT_FAILURE, createFailurePicker('down'), 'down');
        }
      },
      exitIdle() {},
      resetBackoff() {},
      destroy() {},
    };
  }
}

class Subject {
  readonly type = new FailingPolicyType();
  readonly harness = new LbHarness([this.type]);
  readonly policy = this.harness.create(priorityPolicy);

  constructor(private readonly size: number) {}

  update(): void {
    const config = { policyName: 'failing' };
    const children = new Map(
      Array.from({ length: this.size }, (_, i) => [
        `child${i}`,
        { config, ignoreReresolutionRequests: false },
      ]),
    );
    const endpoints = { localities: [], children: new Map() };
    this.harness.updateEndpoints(this.policy, new PriorityConfig(children), endpoints);
  }

  report(position: number, state: ConnectivityState): void {
    const host = this.type.hosts[position];
    this.harness.batch.run(() => host?.updateState(state, queuePicker, null));
  }
}

describe('priority with a thousand priorities that fail at once', () => {
  it('creates all of them', () => {
    const subject = new Subject(1000);
    subject.update();
    expect(subject.type.hosts).toHaveLength(1000);
    expect(subject.harness.last.state).toBe(TRANSIENT_FAILURE);
    expect(subject.harness.errors).toEqual([]);
  });

  it('updates all of them, and uses the first that is connected', () => {
    const subject = new Subject(1000);
    subject.update();
    subject.update();
    expect(subject.harness.last.state).toBe(TRANSIENT_FAILURE);
    subject.report(999, READY);
    expect(subject.harness.last.state).toBe(READY);
    subject.report(500, READY);
    expect(subject.harness.last.state).toBe(READY);
  });
});

describe('the work of priority', () => {
  const workOf = (size: number, run: (subject: Subject) => void, isStarted = true) => {
    const subject = new Subject(size);
    if (isStarted) subject.update();
    return countWork(() => run(subject));
  };

  it('grows with the number of priorities that fail one after another', () => {
    const work = (size: number) => workOf(size, (subject) => subject.update(), false);
    expect(work(400) / work(200)).toBeLessThan(2.5);
  });

  it('grows with the number of priorities that are updated', () => {
    const work = (size: number) => workOf(size, (subject) => subject.update());
    expect(work(400) / work(200)).toBeLessThan(2.5);
  });

  it('does not depend on the number of priorities when one of them changes', () => {
    const change = (subject: Subject) => {
      subject.report(0, READY);
      subject.report(0, CONNECTING);
    };
    const work = (size: number) =>
      workOf(size, (subject) => {
        change(subject);
        change(subject);
      }) - workOf(size, change);
    expect(work(400)).toBeLessThan(work(200) + 50);
  });
});
