import { AddressIndex } from '../../../src/lb/endpoints/endpoint-index';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../../support/lb-harness';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '[::1]:80';

const apply = (index: AddressIndex, set: EndpointSet) => index.update(set);

function priorities(...sets: readonly EndpointSet[]): EndpointSet {
  return { localities: [], children: new Map(sets.map((set, i) => [`p${i}`, set])) };
}

describe('the endpoints of addresses', () => {
  it('finds endpoints of any priority', () => {
    const [a, b] = [makeEndpoint(A), makeEndpoint(B)];
    const index = new AddressIndex();
    apply(
      index,
      priorities(
        makeEndpointSet(makeLocality('r', [a])),
        makeEndpointSet(makeLocality('r', [b]), makeLocality('s', [])),
      ),
    );
    expect(index.get(A)?.endpoint).toBe(a);
    expect(index.get(B)?.endpoint).toBe(b);
    expect(index.get(C)?.endpoint).toBeUndefined();
  });

  it('finds an endpoint by each of its addresses', () => {
    const endpoint = makeEndpoint([A, B, C]);
    const index = new AddressIndex();
    apply(index, makeEndpointSet(makeLocality('r', [endpoint])));
    expect([A, B, C].map((address) => index.get(address)?.endpoint)).toEqual([
      endpoint,
      endpoint,
      endpoint,
    ]);
  });

  it('removes endpoints, with their localities or without', () => {
    const [a, b, c] = [makeEndpoint(A), makeEndpoint(B), makeEndpoint(C)];
    const index = new AddressIndex();
    apply(index, makeEndpointSet(makeLocality('r', [a, b]), makeLocality('s', [c])));
    apply(index, makeEndpointSet(makeLocality('r', [a])));
    expect([A, B, C].map((address) => index.get(address)?.endpoint)).toEqual([
      a,
      undefined,
      undefined,
    ]);
  });

  it('takes the newest endpoint of an address that moved, wherever it was', () => {
    const [first, second] = [makeEndpoint([A, B]), makeEndpoint([B, C])];
    const index = new AddressIndex();
    const [r, s] = [makeLocality('r', [first]), makeLocality('s', [second])];
    for (const [locality, endpoint] of [
      [r, first],
      [s, second],
      [r, first],
    ] as const) {
      apply(index, makeEndpointSet(locality));
      expect(index.get(B)?.endpoint).toBe(endpoint);
    }
  });

  it('finds an endpoint that stays when its locality changed around it', () => {
    const kept = makeEndpoint(A);
    const index = new AddressIndex();
    apply(index, makeEndpointSet(makeLocality('r', [kept, makeEndpoint(B)])));
    apply(index, makeEndpointSet(makeLocality('s', [makeEndpoint(C), kept])));
    expect(index.get(A)?.endpoint).toBe(kept);
    expect(index.get(B)?.endpoint).toBeUndefined();
  });
});

describe('the localities of addresses', () => {
  const [e1, e2, e3] = ['10.0.0.1:80', '10.0.0.2:80', '[::1]:80'].map((a) => makeEndpoint(a));
  if (e1 === undefined || e2 === undefined || e3 === undefined) throw new Error('No endpoints');
  let index: AddressIndex;
  beforeEach(() => {
    index = new AddressIndex();
  });

  const regions = () =>
    ['10.0.0.1:80', '10.0.0.2:80', '[::1]:80'].map(
      (address) => index.get(address)?.locality.region,
    );

  it('are found at any depth', () => {
    const children = new Map([
      ['p0', makeEndpointSet(makeLocality('a', [e1]), makeLocality('b', [e2]))],
      ['p1', makeEndpointSet(makeLocality('a', [e3]))],
    ]);
    expect(apply(index, { localities: [], children })).toBe(false);
    expect(regions()).toEqual(['a', 'b', 'a']);
  });

  it('are removed with the endpoint, and found for a new one', () => {
    const kept = makeLocality('b', [e2]);
    apply(index, makeEndpointSet(makeLocality('a', [e1]), kept));
    expect(apply(index, makeEndpointSet(makeLocality('a', [e3]), kept))).toBe(false);
    expect(regions()).toEqual([undefined, 'b', 'a']);
  });

  it('change when an endpoint moves, be it the same object or another one', () => {
    apply(index, makeEndpointSet(makeLocality('a', [e1, e2])));
    expect(apply(index, makeEndpointSet(makeLocality('a', [e1]), makeLocality('b', [e2])))).toBe(
      true,
    );
    expect(regions()).toEqual(['a', 'b', undefined]);
    const heavier = makeEndpoint('10.0.0.1:80', { weight: 2 });
    expect(
      apply(index, makeEndpointSet(makeLocality('c', [heavier]), makeLocality('b', [e2]))),
    ).toBe(true);
    expect(regions()).toEqual(['c', 'b', undefined]);
  });

  it('stay when only the object of the locality or of the endpoint is new', () => {
    apply(index, makeEndpointSet(makeLocality('a', [e1, e2])));
    const again = makeLocality('a', [e1, makeEndpoint('10.0.0.2:80', { weight: 2 })], 5);
    expect(apply(index, makeEndpointSet(again))).toBe(false);
    expect(regions()).toEqual(['a', 'a', undefined]);
  });
});
