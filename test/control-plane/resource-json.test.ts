import {
  clusterKind,
  Snapshot,
  type ClusterJson,
  type envoy,
  type google,
  type ListenerJson,
  type SnapshotInput,
} from '../../src/control-plane';

/** Returns the message of the error that `Snapshot.from` throws. */
function messageOf(input: SnapshotInput): string {
  try {
    Snapshot.from(input);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return '';
}

describe('the types of resources', () => {
  it('refuse a misspelt field, as Snapshot.from does', () => {
    // @ts-expect-error -- lb_policy is misspelt
    const cluster: ClusterJson = { name: 'c', lb_polcy: 'ROUND_ROBIN' };
    expect(messageOf({ clusters: [cluster] })).toBe('clusters[0] ("c"): unknown field "lb_polcy"');
    expect(
      messageOf({
        // @ts-expect-error -- edsConfig is misspelt
        clusters: [{ name: 'c', edsClusterConfig: { edsConfg: { ads: {} } } }],
      }),
    ).toBe('clusters[0] ("c"): edsClusterConfig: unknown field "edsConfg"');
    expect(
      messageOf({
        endpoints: [
          // @ts-expect-error -- address is misspelt
          { cluster_name: 'c', endpoints: [{ lb_endpoints: [{ endpoint: { adress: {} } }] }] },
        ],
      }),
    ).toBe('endpoints[0] ("c"): endpoints[0].lb_endpoints[0].endpoint: unknown field "adress"');
  });

  it('refuse a misspelt field of an extension, found by its @type', () => {
    const manager: google.protobuf.Any = {
      '@type':
        'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
      // @ts-expect-error -- rds is misspelt
      rsd: { route_config_name: 'r' },
    };
    const listener: ListenerJson = { name: 'l', api_listener: { api_listener: manager } };
    expect(messageOf({ listeners: [listener] })).toBe(
      'listeners[0] ("l"): api_listener.api_listener: unknown field "rsd"',
    );
  });

  it('refuse the name of an enum value, the type of a field and a duration that do not exist', () => {
    // @ts-expect-error -- ROUND_ROBIN is misspelt
    const policy: ClusterJson = { name: 'c', lb_policy: 'ROUNDROBIN' };
    // @ts-expect-error -- a number is expected
    const size: ClusterJson = { name: 'c', ring_hash_lb_config: { minimum_ring_size: 'many' } };
    // @ts-expect-error -- "15s" is expected
    const timeout: ClusterJson = { name: 'c', connect_timeout: '15' };
    for (const cluster of [policy, size, timeout]) {
      expect(messageOf({ clusters: [cluster] })).toMatch(/^clusters\[0\] \("c"\): \w+/);
    }
  });

  it('refuse a resource of another list', () => {
    // @ts-expect-error -- a RouteConfiguration has that field
    const input: SnapshotInput = { clusters: [{ name: 'r', virtual_hosts: [] }] };
    expect(messageOf(input)).toBe('clusters[0] ("r"): unknown field "virtual_hosts"');
  });

  it('accept both spellings, null, numbers as text and the fields that gRPC clients do not read', () => {
    const snake: envoy.config.cluster.v3.Cluster = {
      name: 'c',
      type: 'EDS',
      eds_cluster_config: { eds_config: { ads: {}, resource_api_version: 'V3' } },
      lb_policy: 'RING_HASH',
      ring_hash_lb_config: { minimum_ring_size: '64' },
      connect_timeout: '0.25s',
    };
    const camel: ClusterJson = {
      '@type': 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
      name: 'c',
      type: 3,
      edsClusterConfig: { edsConfig: { ads: {}, resourceApiVersion: 2 } },
      lbPolicy: 'RING_HASH',
      ringHashLbConfig: { minimumRingSize: 64 },
      connectTimeout: '0.25s',
      transportSocket: null,
      upstreamBindConfig: { anything: 1 },
    };
    const version = (cluster: ClusterJson) =>
      Snapshot.from({ clusters: [cluster] }).set(clusterKind).version;
    expect(version(camel)).toBe(version(snake));
  });

  it('accept a wrapper with a time to live, and any type in `resources`', () => {
    const snapshot = Snapshot.from({
      resources: [
        {
          '@type': 'type.googleapis.com/envoy.service.discovery.v3.Resource',
          ttl: '1.5s',
          resource: { '@type': 'type.googleapis.com/envoy.config.cluster.v3.Cluster', name: 'c' },
        },
      ],
    });
    expect(snapshot.shortestTtlMs).toBe(1500);
  });

  it('accept a record, which is checked when the snapshot is made', () => {
    const parsed: Readonly<Record<string, unknown>> = { name: 'c', lb_polcy: 'RANDOM' };
    expect(messageOf({ clusters: [parsed] })).toBe('clusters[0] ("c"): unknown field "lb_polcy"');
  });
});
