import {
  clusterKind,
  Snapshot,
  type ResourceJson,
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

/** A cluster with a type of the application. */
interface OwnCluster {
  readonly name: string;
  readonly lb_policy: 'ROUND_ROBIN' | 'RING_HASH';
}

describe('resources as JSON', () => {
  it('are refused with a misspelt field, whose path the error names', () => {
    const cluster: ResourceJson = { name: 'c', lb_polcy: 'ROUND_ROBIN' };
    expect(messageOf({ clusters: [cluster] })).toBe('clusters[0] ("c"): unknown field "lb_polcy"');
    expect(
      messageOf({ clusters: [{ name: 'c', edsClusterConfig: { edsConfg: { ads: {} } } }] }),
    ).toBe('clusters[0] ("c"): edsClusterConfig: unknown field "edsConfg"');
    expect(
      messageOf({
        endpoints: [
          { cluster_name: 'c', endpoints: [{ lb_endpoints: [{ endpoint: { adress: {} } }] }] },
        ],
      }),
    ).toBe('endpoints[0] ("c"): endpoints[0].lb_endpoints[0].endpoint: unknown field "adress"');
  });

  it('are refused with a misspelt field of an extension, found by its @type', () => {
    const manager = {
      '@type':
        'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
      rsd: { route_config_name: 'r' },
    };
    const listener = { name: 'l', api_listener: { api_listener: manager } };
    expect(messageOf({ listeners: [listener] })).toBe(
      'listeners[0] ("l"): api_listener.api_listener: unknown field "rsd"',
    );
  });

  it('are refused with the name of an enum value, the type of a field and a duration that do not exist', () => {
    const policy = { name: 'c', lb_policy: 'ROUNDROBIN' };
    const size = { name: 'c', ring_hash_lb_config: { minimum_ring_size: 'many' } };
    const timeout = { name: 'c', connect_timeout: '15' };
    for (const cluster of [policy, size, timeout]) {
      expect(messageOf({ clusters: [cluster] })).toMatch(/^clusters\[0\] \("c"\): \w+/);
    }
  });

  it('have fields in either spelling, null, numbers as text and fields that gRPC clients do not read', () => {
    const snake = {
      name: 'c',
      type: 'EDS',
      eds_cluster_config: { eds_config: { ads: {}, resource_api_version: 'V3' } },
      lb_policy: 'RING_HASH',
      ring_hash_lb_config: { minimum_ring_size: '64' },
      connect_timeout: '0.25s',
    };
    const camel = {
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
    const version = (cluster: ResourceJson) =>
      Snapshot.from({ clusters: [cluster] }).set(clusterKind).version;
    expect(version(camel)).toBe(version(snake));
  });

  it('may be in a wrapper with a time to live, and of any type in `resources`', () => {
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

  it('may have a type of the application, and are checked when the snapshot is made', () => {
    const declared: OwnCluster = { name: 'own', lb_policy: 'RING_HASH' };
    const constant = { name: 'constant', lb_policy: 'RING_HASH' } as const;
    const snapshot = Snapshot.from({ clusters: [declared, constant] });
    expect([...snapshot.set(clusterKind).byName.keys()]).toEqual(['own', 'constant']);
    const parsed: Readonly<Record<string, unknown>> = { name: 'c', lb_polcy: 'RANDOM' };
    expect(messageOf({ clusters: [parsed] })).toBe('clusters[0] ("c"): unknown field "lb_polcy"');
  });
});
