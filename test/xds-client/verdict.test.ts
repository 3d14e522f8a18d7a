import type { ReadResponse } from '../../src/xds-client/ads/response-reader';
import { decideVerdict, type Verdict } from '../../src/xds-client/ads/verdict';
import type { ResourceEvent } from '../../src/xds-client/resource-state';
import { STEP_SIZE, type Steps } from '../../src/util/steps';

const renewed: ResourceEvent<unknown> = { kind: 'renewed', ttlMs: undefined };

/** A response that renews some resources, all of them cached, and removes others. */
function setUp(renewals: number, removals: number): Steps<Verdict> {
  const names = Array.from({ length: renewals }, (_, i) => `renewed ${i}`);
  const removed = Array.from({ length: removals }, (_, i) => `removed ${i}`);
  const read: ReadResponse = {
    events: new Map(names.map((name) => [name, renewed])),
    removed,
    lost: new Set<string>(),
    violations: [],
    invalid: 0,
    isComplete: false,
  };
  const resource = { accepted: {}, position: 1 };
  const resources = new Map([...names, ...removed].map((name) => [name, resource]));
  return decideVerdict(read, resources, 1);
}

describe('the verdict on a response', () => {
  it('is decided in one step for a response of common size', () => {
    const step = setUp(100, 100).next();
    expect(step.done === true && [...step.value.settled].length).toBe(200);
  });

  it('is decided in steps of a bounded number of names', () => {
    const steps = setUp(10_000, 10_000);
    let count = 1;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count++;
    expect([...step.value.settled]).toHaveLength(20_000);
    expect(count).toBe(1 + Math.floor(20_000 / STEP_SIZE));
  });
});
