import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { ObservedEndpoints } from '../../../src/lb/outlier-detection/observed-endpoints';
import { makeAddress, makeEndpoint, singleLocality } from '../../support/lb-harness';

const A = '10.0.0.1:80';
const B = '[::1]:80';
const C = '10.0.0.3:80';

function update(endpoints: ObservedEndpoints, set: EndpointSet): void {
  const { added, removed } = endpoints.beginUpdate(set);
  for (const listed of added) endpoints.add(listed);
  endpoints.remove(removed);
}

describe('ObservedEndpoints', () => {
  it('finds an endpoint by each of its addresses', () => {
    const endpoints = new ObservedEndpoints();
    update(endpoints, singleLocality(makeEndpoint([A, B]), C));
    const first = endpoints.findAddress(makeAddress(A));
    expect(first).toBeDefined();
    expect(endpoints.findAddress(makeAddress(B))).toBe(first);
    expect(endpoints.findAddress(makeAddress(C))).not.toBe(first);
    expect(endpoints.size).toBe(2);
  });

  it('finds none for addresses that are not listed, or no IP addresses', () => {
    const endpoints = new ObservedEndpoints();
    update(endpoints, singleLocality(A));
    expect(endpoints.findAddress(makeAddress(B))).toBeUndefined();
    expect(endpoints.findAddress({ path: '/tmp/socket' })).toBeUndefined();
  });

  it('identifies an endpoint by its addresses, in any order', () => {
    const endpoints = new ObservedEndpoints();
    update(endpoints, singleLocality(makeEndpoint([A, B])));
    const before = endpoints.findAddress(makeAddress(A));
    update(endpoints, singleLocality(makeEndpoint([B, A], { weight: 2 })));
    expect(endpoints.findAddress(makeAddress(A))).toBe(before);
    expect(endpoints.size).toBe(1);
  });

  it('removes what is not listed any more', () => {
    const endpoints = new ObservedEndpoints();
    update(endpoints, singleLocality(makeEndpoint([A, B]), C));
    update(endpoints, singleLocality(C));
    expect(endpoints.findAddress(makeAddress(A))).toBeUndefined();
    expect(endpoints.findAddress(makeAddress(B))).toBeUndefined();
    expect(endpoints.size).toBe(1);
  });

  it('keeps what is still listed in another place', () => {
    const endpoints = new ObservedEndpoints();
    update(endpoints, singleLocality(A, makeEndpoint(A, { weight: 2 })));
    const before = endpoints.findAddress(makeAddress(A));
    expect(endpoints.size).toBe(1);
    update(endpoints, singleLocality(A));
    expect(endpoints.findAddress(makeAddress(A))).toBe(before);
    update(endpoints, singleLocality());
    expect(endpoints.size).toBe(0);
  });

  it('distinguishes endpoints whose addresses are grouped differently', () => {
    const endpoints = new ObservedEndpoints();
    update(endpoints, singleLocality(makeEndpoint([A, B])));
    const before = endpoints.findAddress(makeAddress(A));
    update(endpoints, singleLocality(makeEndpoint([A, C]), B));
    const after = endpoints.findAddress(makeAddress(A));
    expect(after).not.toBe(before);
    expect(endpoints.findAddress(makeAddress(C))).toBe(after);
    expect(endpoints.findAddress(makeAddress(B))).not.toBe(after);
    expect(endpoints.size).toBe(2);
  });

  it('unejects a removed endpoint', () => {
    const endpoints = new ObservedEndpoints();
    update(endpoints, singleLocality(A));
    const endpoint = endpoints.findAddress(makeAddress(A));
    const told: boolean[] = [];
    endpoint?.addSubchannel({ setEjected: (ejected) => told.push(ejected) });
    endpoint?.eject(5);
    update(endpoints, singleLocality());
    expect(told).toEqual([false, true, false]);
  });
});
