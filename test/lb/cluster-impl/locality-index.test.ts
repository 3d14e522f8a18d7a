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
