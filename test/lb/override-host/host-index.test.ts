import { formatAddress } from '../../../src/lb/endpoints/endpoint-key';
import { subchannelAddressToString } from '../../../src/grpc-js';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { createHostIndex } from '../../../src/lb/endpoints/address-index';
import { makeEndpoint, makeEndpointSet, makeLocality } from '../../support/lb-harness';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '[::1]:80';

function priorities(...sets: readonly EndpointSet[]): EndpointSet {
  return { localities: [], children: new Map(sets.map((set, i) => [`p${i}`, set])) };
}

describe('the endpoints of addresses', () => {
  it('finds endpoints of any priority', () => {
    const [a, b] = [makeEndpoint(A), makeEndpoint(B)];
    const index = createHostIndex();
    index.update(
      priorities(
        makeEndpointSet(makeLocality('r', [a])),
        makeEndpointSet(makeLocality('r', [b]), makeLocality('s', [])),
      ),
    );
    expect(index.get(A)).toBe(a);
    expect(index.get(B)).toBe(b);
    expect(index.get(C)).toBeUndefined();
  });

  it('finds an endpoint by each of its addresses', () => {
    const endpoint = makeEndpoint([A, B, C]);
    const index = createHostIndex();
    index.update(makeEndpointSet(makeLocality('r', [endpoint])));
    expect([A, B, C].map((address) => index.get(address))).toEqual([endpoint, endpoint, endpoint]);
  });

  it('removes endpoints, with their localities or without', () => {
    const [a, b, c] = [makeEndpoint(A), makeEndpoint(B), makeEndpoint(C)];
    const index = createHostIndex();
    index.update(makeEndpointSet(makeLocality('r', [a, b]), makeLocality('s', [c])));
    index.update(makeEndpointSet(makeLocality('r', [a])));
    expect([A, B, C].map((address) => index.get(address))).toEqual([a, undefined, undefined]);
  });

  it('takes the newest endpoint of an address that moved, wherever it was', () => {
    const [first, second] = [makeEndpoint([A, B]), makeEndpoint([B, C])];
    const index = createHostIndex();
    const [r, s] = [makeLocality('r', [first]), makeLocality('s', [second])];
    for (const [locality, endpoint] of [
      [r, first],
      [s, second],
      [r, first],
    ] as const) {
      index.update(makeEndpointSet(locality));
      expect(index.get(B)).toBe(endpoint);
    }
  });

  it('finds an endpoint that stays when its locality changed around it', () => {
    const kept = makeEndpoint(A);
    const index = createHostIndex();
    index.update(makeEndpointSet(makeLocality('r', [kept, makeEndpoint(B)])));
    index.update(makeEndpointSet(makeLocality('s', [makeEndpoint(C), kept])));
    expect(index.get(A)).toBe(kept);
    expect(index.get(B)).toBeUndefined();
  });
});

describe('formatAddress', () => {
  it.each(['10.0.0.1', '::1', 'fe80::1%eth0', '::ffff:10.0.0.1'])(
    'writes %s as grpc-js does',
    (host) => {
      const address = { host, port: 443 };
      expect(formatAddress(address)).toBe(subchannelAddressToString(address));
    },
  );
});
