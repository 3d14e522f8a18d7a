import type { ResponseContent } from '../../src/xds-client/ads/read-response';
import { decideVerdict } from '../../src/xds-client/ads/verdict';
import type { Accepted, ResourceEvent } from '../../src/xds-client/resource-state';

const renewed: ResourceEvent<unknown> = { kind: 'renewed', ttlMs: undefined };

function accepted(version: string): Accepted<unknown> {
  return { value: {}, bytes: Buffer.of(), version, serverKey: 'k', updatedAtMs: 0 };
}

function reading(read: Partial<ResponseContent>): ResponseContent {
  const nothing = {
    removed: new Map<string, ResourceEvent<unknown>>(),
    leftOut: new Map<string, ResourceEvent<unknown>>(),
    lost: new Set<string>(),
    violations: [],
    invalid: 0,
  };
  return { events: new Map(), isComplete: false, ...nothing, ...read };
}

describe('the verdict on a response', () => {
  it('settles what the response renews and removes', () => {
    const read = reading({
      events: new Map([['renewed', renewed]]),
      removed: new Map(['removed', 'late'].map((name) => [name, renewed])),
    });
    const resources = new Map([
      ['renewed', { accepted: {}, position: 1 }],
      ['removed', { accepted: {}, position: 1 }],
      ['late', { accepted: undefined, position: 2 }],
    ]);
    expect(decideVerdict(read, resources, 1).settled).toEqual(['removed', 'renewed']);
  });

  it.each([
    ['another value than the cached one', accepted('2'), true],
    ['the cached value', undefined, false],
  ])('of which one resource is rejected and one has %s says so', (_what, other, hasNews) => {
    const cached = accepted('1');
    const event: ResourceEvent<unknown> = {
      kind: 'accepted',
      accepted: other ?? cached,
      version: '2',
      ttlMs: undefined,
    };
    const read = reading({ events: new Map([['a', event]]), violations: ['b: bad'] });
    const resources = new Map([['a', { accepted: cached, position: 1 }]]);
    const { answer } = decideVerdict(read, resources, 1);
    expect(answer).toEqual({ kind: 'reject', reason: 'b: bad', hasNews });
  });
});
