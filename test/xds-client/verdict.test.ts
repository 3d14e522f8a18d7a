import type { ReadResponse } from '../../src/xds-client/ads/response-reader';
import {
  decideVerdict,
  rejectRepeated,
  type Verdict,
  type VerdictResource,
} from '../../src/xds-client/ads/verdict';
import type { ResourceEvent } from '../../src/xds-client/resource-state';
import { STEP_SIZE, type Steps } from '../../src/util/steps';

const renewed: ResourceEvent<unknown> = { kind: 'renewed', ttlMs: undefined };

/** A response that renews some resources, all of them cached, and removes others. */
function setUp(renewals: number, removals: number): Steps<Verdict> {
  const names = Array.from({ length: renewals }, (_, i) => `renewed ${i}`);
  const removed = Array.from({ length: removals }, (_, i) => `removed ${i}`);
  const read: ReadResponse = {
    events: new Map(names.map((name) => [name, renewed])),
    ...{ removed, lost: new Set<string>(), violations: [], invalid: 0, isComplete: false },
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

describe('the verdict on a response whose resources their users reject', () => {
  const cached = { accepted: {}, position: 1 };
  const resources = new Map<string, VerdictResource>([
    ['a', cached],
    ['b', cached],
    ['none', { accepted: undefined, position: 2 }],
  ]);
  const failure = { version: '2' } as unknown as Extract<
    ResourceEvent<unknown>,
    { readonly kind: 'failed' }
  >['failure'];
  const accepted = (value: object) =>
    ({ kind: 'accepted', accepted: value }) as unknown as ResourceEvent<unknown>;
  const failed: ResourceEvent<unknown> = { kind: 'failed', failure, dropValue: false };
  const same = accepted(cached.accepted);

  function answer(
    events: readonly (readonly [string, ResourceEvent<unknown>])[],
    more: Partial<ReadResponse> = {},
  ): string {
    const read: ReadResponse = {
      ...{ events: new Map(events), removed: [], lost: new Set<string>(), violations: [] },
      ...{ invalid: 0, isComplete: false, ...more },
    };
    const run = <T>(steps: Steps<T>): T => {
      let step = steps.next();
      while (step.done !== true) step = steps.next();
      return step.value;
    };
    const verdict = run(decideVerdict(read, resources, 2));
    const result = run(rejectRepeated(verdict, read, resources, 'bad for users')).answer;
    return result.kind === 'reject' ? result.reason : result.kind;
  }

  it.each<[string, string]>([
    ['has the same again', answer([['a', same]])],
    ['has a heartbeat', answer([['a', renewed]])],
    [
      'has all again',
      answer(
        [
          ['a', same],
          ['b', same],
        ],
        { isComplete: true },
      ),
    ],
    [
      'has an error again for what is not cached',
      answer([
        ['a', same],
        ['none', failed],
      ]),
    ],
    ['removes what is not cached', answer([], { removed: ['none'] })],
  ])('is a rejection if it %s', (_, result) => {
    expect(result).toBe('bad for users');
  });

  it.each<[string, string]>([
    [
      'has another value',
      answer([
        ['a', same],
        ['b', accepted({})],
      ]),
    ],
    ['has a first value', answer([['none', accepted({})]])],
    ['has an error', answer([['a', failed]])],
    ['removes a resource', answer([['a', same]], { removed: ['b'] })],
    ['leaves a resource out', answer([['a', same]], { isComplete: true })],
  ])('is an acknowledgement if it %s: users receive a change', (_, result) => {
    expect(result).toBe('acknowledge');
  });

  it('has its own violations if there are any', () => {
    expect(answer([['a', same]], { violations: ['wrong'] })).toBe('wrong');
  });
});
