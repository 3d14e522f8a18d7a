import { buildLeaf } from '../../src/dependency-manager/build-cluster';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import type { EndpointsResource } from '../../src/resources/endpoints/endpoints';
import { value } from '../support/config-world';
import { dnsCluster, edsCluster, endpoints } from '../support/xds-builders';

/** Endpoints in as many localities of one priority, all of them empty. */
function emptyLocalities(count: number): EndpointsResource {
  const localities = Array.from({ length: count }, (_, i) => ({
    locality: { region: '', zone: `${i}`, subZone: '' },
    weight: 1,
    endpoints: [],
  }));
  return { clusterName: 'e', priorities: [{ localities }], drops: [] };
}

function noteOf(resource: ClusterResource, resolved: EndpointsResource) {
  const inputs = { ambient: [], clientNote: 'server s', previous: undefined };
  const result = buildLeaf(value(resource), value(resolved), inputs);
  const children = result?.ok === true ? result.value.children : undefined;
  return children?.kind === 'endpoints' ? children.resolutionNote : undefined;
}

describe('the resolution note of a cluster without endpoints', () => {
  it.each([
    [0, 'it has no localities'],
    [1, 'its only locality has no endpoint'],
    [3, 'none of its 3 localities has an endpoint'],
  ])('says that its localities are empty, and what to check: %d', (count, text) => {
    expect(noteOf(edsCluster('c'), emptyLocalities(count))).toBe(
      `ClusterLoadAssignment "e": ${text}: check that its backends run, and that the server knows them; server s`,
    );
  });

  it('says that the answer of DNS has no addresses', () => {
    const resource = dnsCluster('c', 'db.example', 80);
    expect(noteOf(resource, emptyLocalities(1))).toBe(
      'DNS resolution of db.example:80: the answer has no addresses: check the name; server s',
    );
  });

  it('has nothing to say of endpoints that can be used', () => {
    expect(noteOf(edsCluster('c'), endpoints('e', '10.0.0.1'))).toBe('server s');
  });
});
