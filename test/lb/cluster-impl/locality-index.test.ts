import { type AddressIndex, createLocalityIndex } from '../../../src/lb/endpoints/address-index';
import type { Locality } from '../../../src/resources/endpoints/endpoints';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../../support/lb-harness';

describe('the localities of addresses', () => {
  const [e1, e2, e3] = ['10.0.0.1:80', '10.0.0.2:80', '[::1]:80'].map((a) => makeEndpoint(a));
  if (e1 === undefined || e2 === undefined || e3 === undefined) throw new Error('No endpoints');
  let index: AddressIndex<Locality>;
  beforeEach(() => {
    index = createLocalityIndex();
  });

  const regions = () =>
    ['10.0.0.1:80', '10.0.0.2:80', '[::1]:80'].map((address) => index.get(address)?.region);

  it('are found at any depth', () => {
    const children = new Map([
      ['p0', makeEndpointSet(makeLocality('a', [e1]), makeLocality('b', [e2]))],
      ['p1', makeEndpointSet(makeLocality('a', [e3]))],
    ]);
    expect(index.update({ localities: [], children })).toBe(false);
    expect(regions()).toEqual(['a', 'b', 'a']);
  });

  it('are removed with the endpoint, and found for a new one', () => {
    const kept = makeLocality('b', [e2]);
    index.update(makeEndpointSet(makeLocality('a', [e1]), kept));
    expect(index.update(makeEndpointSet(makeLocality('a', [e3]), kept))).toBe(false);
    expect(regions()).toEqual([undefined, 'b', 'a']);
  });

  it('change when an endpoint moves, be it the same object or another one', () => {
    index.update(makeEndpointSet(makeLocality('a', [e1, e2])));
    expect(index.update(makeEndpointSet(makeLocality('a', [e1]), makeLocality('b', [e2])))).toBe(
      true,
    );
    expect(regions()).toEqual(['a', 'b', undefined]);
    const heavier = makeEndpoint('10.0.0.1:80', { weight: 2 });
    expect(
      index.update(makeEndpointSet(makeLocality('c', [heavier]), makeLocality('b', [e2]))),
    ).toBe(true);
    expect(regions()).toEqual(['c', 'b', undefined]);
  });

  it('stay when only the object of the locality or of the endpoint is new', () => {
    index.update(makeEndpointSet(makeLocality('a', [e1, e2])));
    const again = makeLocality('a', [e1, makeEndpoint('10.0.0.2:80', { weight: 2 })], 5);
    expect(index.update(makeEndpointSet(again))).toBe(false);
    expect(regions()).toEqual(['a', 'a', undefined]);
  });
});

describe('the localities of many addresses', () => {
  const addresses = (count: number, port: number) =>
    Array.from({ length: count }, (_, i) => `10.0.${i >> 8}.${i & 255}:${port}`);

  /** @returns The number of steps. */
  function apply(
    index: AddressIndex<Locality>,
    set: Parameters<AddressIndex<Locality>['updateInSteps']>[0],
    onStep: () => void = () => {},
  ) {
    const steps = index.updateInSteps(set);
    for (let count = 1; ; count++) {
      const step = steps.next();
      onStep();
      if (step.done === true) return { count, hasMoved: step.value };
    }
  }

  it('are found after steps whose number grows with theirs', () => {
    const index = createLocalityIndex();
    const stepsOf = (count: number) =>
      apply(createLocalityIndex(), makeEndpointSet(makeLocality('a', addresses(count, 80)))).count;
    expect(stepsOf(1000)).toBe(1);
    expect(stepsOf(5000)).toBeGreaterThan(5000 / 256);
    expect(stepsOf(10_000)).toBeLessThan(2.1 * stepsOf(5000));
    expect(index.get('10.0.0.1:80')).toBeUndefined();
  });

  it('are known at all times while others are added and removed', () => {
    const index = createLocalityIndex();
    const [kept, old, next] = [80, 81, 82].map((port) => addresses(3000, port));
    if (kept === undefined || old === undefined || next === undefined) throw new Error('none');
    apply(index, makeEndpointSet(makeLocality('a', [...kept, ...old])));
    const seen = new Set<string | undefined>();
    const { hasMoved } = apply(index, makeEndpointSet(makeLocality('b', [...kept, ...next])), () =>
      seen.add(index.get('10.0.0.1:80')?.region),
    );
    expect(hasMoved).toBe(true);
    expect([...seen]).toEqual(['a', 'b']);
    expect(index.get('10.0.0.1:81')).toBeUndefined();
    expect(index.get('10.0.0.1:82')?.region).toBe('b');
  });
});
