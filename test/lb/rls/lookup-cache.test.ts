import { LookupCache } from '../../../src/lb/rls/lookup-cache';
import { MAX_LOOKUP_ENTRIES } from '../../../src/util/limits';
import { FakeClock } from '../../support/fake-clock';
import { LbHarness } from '../../support/lb-harness';

function createCache(clock = new FakeClock()) {
  const released: string[] = [];
  const { environment } = new LbHarness();
  const cache = new LookupCache<string>({
    environment: { ...environment, clock },
    onReleased: (targets) => released.push(...targets),
    onBackoffEnded: () => {},
  });
  const add = (key: string, headerData = '') =>
    cache.succeed(key, { targets: [`of ${key}`], headerData, maxAgeMs: 1000, staleAgeMs: 1000 });
  return { cache, clock, released, add };
}

describe('the cache of lookups', () => {
  it('counts the bytes of keys and header data', () => {
    const { cache, add } = createCache();
    add('é', 'data');
    cache.fail('ab', 'error');
    expect([cache.size, cache.bytes]).toEqual([2, 8]);
    add('é');
    expect(cache.bytes).toBe(4);
    cache.clear();
    expect([cache.size, cache.bytes]).toEqual([0, 0]);
  });

  it('evicts what was used least recently, up to the first entry that is younger than 5 s', () => {
    const { cache, clock, released, add } = createCache();
    for (const key of ['a', 'b', 'c', 'd']) add(key);
    clock.advance(4000);
    add('c');
    add('d');
    clock.advance(1000);
    cache.use('a');
    // In the order b, c, d, a: the second one is too young.
    cache.evict(1);
    expect(released.splice(0)).toEqual(['of c', 'of d', 'of b']);
    clock.advance(4000);
    cache.evict(1);
    expect(released).toEqual(['of c', 'of d']);
    expect(cache.bytes).toBe(1);
  });

  it('has at most 100,000 entries, however young and small', () => {
    const { cache, released, add } = createCache();
    for (let i = 0; i < MAX_LOOKUP_ENTRIES + 5; i++) {
      add(`${i}`);
      cache.evict(Infinity);
    }
    expect(cache.size).toBe(MAX_LOOKUP_ENTRIES);
    expect(released).toEqual(['of 0', 'of 1', 'of 2', 'of 3', 'of 4']);
  });
});
