import type { ReadResponse } from '../../src/xds-client/ads/response-reader';
import { decideVerdict } from '../../src/xds-client/ads/verdict';
import type { ResourceEvent } from '../../src/xds-client/resource-state';

const renewed: ResourceEvent<unknown> = { kind: 'renewed', ttlMs: undefined };

function reading(read: Partial<ReadResponse>): ReadResponse {
  const nothing = { removed: [], lost: new Set<string>(), violations: [], invalid: 0 };
  return { events: new Map(), isComplete: false, ...nothing, ...read };
}

describe('the verdict on a response', () => {
  it('settles what the response renews and removes', () => {
    const read = reading({ events: new Map([['renewed', renewed]]), removed: ['removed', 'late'] });
    const resources = new Map([
      ['renewed', { accepted: {}, position: 1 }],
      ['removed', { accepted: {}, position: 1 }],
      ['late', { accepted: undefined, position: 2 }],
    ]);
    expect(decideVerdict(read, resources, 1).settled).toEqual(['removed', 'renewed']);
  });
});
