// The proxies of a cluster's endpoints (gRFC A86): which one is used, and when connections must be made anew.

import type { Subchannel, SubchannelAddress } from '../../../src/grpc-js';
import { EndpointProxies } from '../../../src/lb/cds/endpoint-proxies';
import type { EndpointsResource, SocketAddress } from '../../../src/resources/endpoints/endpoints';
import { LbHarness } from '../../support/lb-harness';
import { edsCluster, endpoints } from '../../support/xds-builders';

const direct = edsCluster('c');
const proxied = { ...direct, httpConnect: true };
const [A, B] = ['10.0.0.1', '10.0.0.2'];
const proxy = (host: string): SocketAddress => ({ host, port: 3128 });

/** Endpoints with their proxies, and the proxy of their locality. */
function assignment(hosts: Record<string, string>, ofLocality?: string): EndpointsResource {
  const plain = endpoints('c', ...Object.keys(hosts));
  const localities = (plain.priorities[0]?.localities ?? []).map((locality) => ({
    ...locality,
    ...(ofLocality !== undefined && { proxy: proxy(ofLocality) }),
    endpoints: locality.endpoints.map((endpoint) => {
      const own = hosts[endpoint.addresses[0]?.host ?? ''] ?? '';
      return own === '' ? endpoint : { ...endpoint, proxy: proxy(own) };
    }),
  }));
  return { ...plain, priorities: [{ localities }] };
}

describe('the proxies of a cluster', () => {
  const { host } = new LbHarness([]);
  let created: [SubchannelAddress, object][];
  let proxies: EndpointProxies;

  beforeEach(() => {
    created = [];
    proxies = new EndpointProxies();
  });

  const update = (...configuration: Parameters<EndpointProxies['update']>): boolean =>
    proxies.update(...configuration);

  const create = (address: string): Subchannel =>
    proxies.createSubchannel({ host: address, port: 80 }, { a: 1 }, (to, args) => {
      created.push([to, args]);
      return host.createSubchannel(to, args);
    });

  it('are used for the endpoints that have one, or whose locality has one', () => {
    update(proxied, assignment({ [A]: 'p1', [B]: '' }, 'p2'));
    expect([create(A).getAddress(), create(B).getAddress()]).toEqual([`${A}:80`, `${B}:80`]);
    expect(created).toEqual([
      [proxy('p1'), { a: 1, 'grpc_xds.http_connect': `${A}:80` }],
      [proxy('p2'), { a: 1, 'grpc_xds.http_connect': `${B}:80` }],
    ]);
  });

  it('are not looked up by address while no endpoint has one', () => {
    const countReads = (resource: EndpointsResource) => {
      const reads = jest.fn();
      const localities = (resource.priorities[0]?.localities ?? []).map((locality) => ({
        ...locality,
        endpoints: locality.endpoints.map(({ addresses, ...endpoint }) => ({
          ...endpoint,
          get addresses() {
            reads();
            return addresses;
          },
        })),
      }));
      return { resource: { ...resource, priorities: [{ localities }] }, reads };
    };
    const [first, second] = [{ [A]: '' }, { [A]: '', [B]: '' }].map((hosts) =>
      countReads(assignment(hosts)),
    );
    for (const each of [first, second]) {
      expect(each && update(proxied, each.resource)).toBe(false);
      expect(each?.reads).not.toHaveBeenCalled();
    }
    // The address was there before, without a proxy.
    expect(update(proxied, assignment({ [A]: 'p1' }))).toBe(true);
    expect(second?.reads).toHaveBeenCalled();
  });

  it('are not used where there is none, or by a cluster that does not use them', () => {
    update(proxied, assignment({ [A]: '' }));
    create(A);
    update(direct, assignment({ [A]: 'p1' }));
    create(A);
    expect(created).toEqual([
      [{ host: A, port: 80 }, { a: 1 }],
      [{ host: A, port: 80 }, { a: 1 }],
    ]);
  });

  it.each<[string, boolean, EndpointsResource, EndpointsResource]>([
    [
      'the proxy of an endpoint changes',
      true,
      assignment({ [A]: 'p1' }),
      assignment({ [A]: 'p2' }),
    ],
    ['an endpoint gets a proxy', true, assignment({ [A]: '' }), assignment({ [A]: 'p1' })],
    ['an endpoint loses its proxy', true, assignment({ [A]: 'p1' }), assignment({ [A]: '' })],
    ['the locality gets one', true, assignment({ [A]: '' }), assignment({ [A]: '' }, 'p1')],
    [
      'the proxy moves from the endpoint to the locality',
      false,
      assignment({ [A]: 'p1' }),
      assignment({ [A]: '' }, 'p1'),
    ],
    [
      'endpoints with a proxy come and go',
      false,
      assignment({ [A]: 'p1' }),
      assignment({ [B]: 'p2' }),
    ],
    ['nothing changes', false, assignment({ [A]: 'p1' }), assignment({ [A]: 'p1' })],
  ])('need new connections if %s: %s', (_case, isNew, before, after) => {
    update(proxied, before);
    expect(update(proxied, after)).toBe(isNew);
  });

  it('need new connections when the cluster begins or ceases to use them', () => {
    const set = assignment({ [A]: 'p1' });
    expect(update(direct, set)).toBe(false);
    expect(update(proxied, set)).toBe(true);
    expect(update(proxied, set)).toBe(false);
    expect(update(direct, set)).toBe(true);
    const none = assignment({ [A]: '' });
    expect([update(proxied, none), update(direct, none)]).toEqual([false, false]);
  });
});
