import { FlatEndpoints } from '../../../src/lb/tree/grpc-js-root';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';

const address = (host: string) => ({ host, port: 80 });
const list = (...hosts: string[]) => hosts.map((host) => ({ addresses: [address(host)] }));

describe('FlatEndpoints', () => {
  it('puts all endpoints into one locality of no name', () => {
    const { localities } = new FlatEndpoints().update(list('10.0.0.1', '10.0.0.2'));
    expect(localities.length).toBe(1);
    expect(localities[0]?.locality).toEqual({ region: '', zone: '', subZone: '' });
    expect(localities[0]?.endpoints.map((endpoint) => endpoint.addresses)).toEqual([
      [address('10.0.0.1')],
      [address('10.0.0.2')],
    ]);
  });

  it('returns the same set for an equal list', () => {
    const endpoints = new FlatEndpoints();
    const first = endpoints.update(list('10.0.0.1', '10.0.0.2'));
    expect(endpoints.update(list('10.0.0.1', '10.0.0.2'))).toBe(first);
  });

  it('keeps the endpoints that stay', () => {
    const endpoints = new FlatEndpoints();
    const first = endpoints.update(list('10.0.0.1', '10.0.0.2')).localities[0]?.endpoints;
    const second = endpoints.update(list('10.0.0.3', '10.0.0.2')).localities[0]?.endpoints;
    expect(second?.[1]).toBe(first?.[1]);
    expect(second?.[0]).not.toBe(first?.[0]);
  });

  it('notices another order of addresses', () => {
    const endpoints = new FlatEndpoints();
    const both = [address('10.0.0.1'), address('10.0.0.2')];
    const first = endpoints.update([{ addresses: both }]);
    const second = endpoints.update([{ addresses: [...both].reverse() }]);
    expect(second).not.toBe(first);
  });

  it('is empty for an empty list, and leaves out sockets that are no IP addresses', () => {
    const endpoints = new FlatEndpoints();
    endpoints.update(list('10.0.0.1'));
    expect(endpoints.update([])).toBe(emptyEndpointSet);
    expect(endpoints.update([{ addresses: [{ path: '/tmp/x' }] }])).toBe(emptyEndpointSet);
  });
});
