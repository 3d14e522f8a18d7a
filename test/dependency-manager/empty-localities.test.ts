import { buildCluster } from '../../src/dependency-manager/build-cluster';
import type { ClusterSource } from '../../src/dependency-manager/build-cluster';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import type { EndpointsResource } from '../../src/resources/endpoints/endpoints';
import { dnsCluster, edsCluster, endpoints } from '../support/xds-builders';

/** Endpoints in as many localities of one priority, all of them empty. */
function emptyLocalities(count: number): EndpointsResource {
  const localities = Array.from({ length: count }, (_, i) => ({
    ...{ locality: { region: '', zone: `${i}`, subZone: '' }, weight: 1, endpoints: [] },
  }));
  return { clusterName: 'e', priorities: [{ localities }], drops: [] };
}

function noteOf(resource: ClusterResource, source: ClusterSource, value: EndpointsResource) {
  const observed = { kind: 'value', value, ambient: undefined } as const;
  const result = buildCluster(
    'c',
    source,
    {
      observed: {
        cluster: () => ({ kind: 'value', value: resource, ambient: undefined }),
        endpoints: () => observed,
        dns: () => observed,
      },
      ...{ ambient: [], clientNote: 'server s', leavesOf: () => ({ ok: true, value: [] }) },
    },
    undefined,
  );
  const children = result?.ok === true ? result.value.children : undefined;
  return children?.kind === 'endpoints' ? children.resolutionNote : undefined;
}

describe('the resolution note of a cluster without endpoints', () => {
  const eds = { kind: 'eds', name: 'e' } as const;

  it.each([
    [0, 'it has no localities'],
    [1, 'its only locality has no endpoint'],
    [3, 'none of its 3 localities has an endpoint'],
  ])('says that its localities are empty, and what to check: %d', (count, text) => {
    expect(noteOf(edsCluster('c'), eds, emptyLocalities(count))).toBe(
      `ClusterLoadAssignment "e": ${text}: check that its backends run, and that the server knows them; server s`,
    );
  });

  it('says that the answer of DNS has no addresses', () => {
    const resource = dnsCluster('c', 'db.example', 80);
    const target = { host: 'db.example', port: 80 };
    const source = { kind: 'dns', key: 'db.example:80', target } as const;
    expect(noteOf(resource, source, emptyLocalities(1))).toBe(
      'DNS resolution of db.example:80: the answer has no addresses: check the name; server s',
    );
  });

  it('has nothing to say of endpoints that can be used', () => {
    expect(noteOf(edsCluster('c'), eds, endpoints('e', '10.0.0.1'))).toBe('server s');
  });
});
