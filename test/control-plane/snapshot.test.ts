import { SnapshotError, Snapshot, type EncodedResource } from '../../src/control-plane';
import { clusterKind, endpointKind, listenerKind } from '../../src/control-plane/resource';
import { Cluster } from '../../src/wire/generated/envoy/config/cluster/v3/cluster';
import { decodeOfficial } from './ads-client';
import { CDS, cluster, echo, endpoints, listener } from './resources';

/** A resource that the compiler does not check. */
type Untyped = Readonly<Record<string, unknown>> | EncodedResource;

/** Returns the problems of the SnapshotError for these clusters. */
function problemsOf(clusters: readonly Untyped[]): readonly string[] {
  try {
    Snapshot.from({ clusters });
    return [];
  } catch (error) {
    if (error instanceof SnapshotError) return error.message.split('\n');
    throw error;
  }
}

const read = (snapshot: Snapshot, name: string) =>
  decodeOfficial(CDS, snapshot.get(clusterKind, name)?.value ?? Buffer.alloc(0));

describe('Snapshot.from', () => {
  it('accepts field names in snake case and camel case', () => {
    const snake = Snapshot.from(echo);
    const camel = Snapshot.from({
      clusters: [
        {
          name: 'echo',
          type: 'EDS',
          edsClusterConfig: { edsConfig: { ads: {}, resourceApiVersion: 'V3' } },
        },
      ],
    });
    expect(camel.get(clusterKind, 'echo')?.version).toBe(snake.get(clusterKind, 'echo')?.version);
  });

  it('accepts durations, wrappers, enums by number, 64-bit integers, Any and Struct', () => {
    const snapshot = Snapshot.from({
      clusters: [
        {
          name: 'c',
          type: 3,
          connect_timeout: '0.25s',
          lb_policy: 'RING_HASH',
          ring_hash_lb_config: { minimum_ring_size: '9007199254740993' },
          outlier_detection: { interval: '3s', max_ejection_percent: 20 },
          metadata: {
            filter_metadata: JSON.parse('{"__proto__": {"__proto__": [1, "b", null, true]}}'),
          },
          transport_socket: {
            name: 'x',
            typed_config: {
              '@type': 'type.googleapis.com/google.protobuf.Duration',
              value: '1s',
            },
          },
        },
      ],
    });
    expect(read(snapshot, 'c')).toMatchObject({
      type: 'EDS',
      connect_timeout: { nanos: 250_000_000 },
      ring_hash_lb_config: { minimum_ring_size: { value: '9007199254740993' } },
      outlier_detection: { interval: { seconds: '3' }, max_ejection_percent: { value: 20 } },
      transport_socket: {
        typed_config: { type_url: 'type.googleapis.com/google.protobuf.Duration' },
      },
    });
    const value = snapshot.get(clusterKind, 'c')?.value ?? new Uint8Array();
    const metadata = Cluster.decode(value).metadata?.filterMetadata.get('__proto__');
    expect(metadata?.fields.get('__proto__')?.kind).toMatchObject({ $case: 'listValue' });
  });

  it('keeps the bytes of encoded resources', () => {
    const { kind, value } = Snapshot.from(echo).set(clusterKind).byName.get('echo') ?? {};
    if (kind === undefined || value === undefined) throw new Error('no cluster');
    const snapshot = Snapshot.from({
      clusters: [
        { typeUrl: kind.typeUrl, value },
        { typeUrl: kind.typeUrl, name: 'broken', value: new Uint8Array([0xff]) },
      ],
    });
    expect([...snapshot.set(clusterKind).byName.keys()]).toEqual(['echo', 'broken']);
    expect(snapshot.get(clusterKind, 'broken')?.value).toEqual(new Uint8Array([0xff]));
  });

  it.each<[string, Untyped, string]>([
    ['an unknown field', { name: 'echo', typ: 'EDS' }, 'clusters[0] ("echo"): unknown field "typ"'],
    [
      'an unknown field further down',
      { name: 'echo', eds_cluster_config: { eds_config: { adss: {} } } },
      'clusters[0] ("echo"): eds_cluster_config.eds_config: unknown field "adss"',
    ],
    [
      'a value of the wrong type',
      { name: 'echo', eds_cluster_config: { service_name: 5 } },
      'clusters[0] ("echo"): eds_cluster_config.service_name: expected string, got 5',
    ],
    [
      'an enum value that does not exist',
      { name: 'echo', dns_lookup_family: 'V5_ONLY' },
      'clusters[0] ("echo"): dns_lookup_family: "V5_ONLY" is not one of AUTO, V4_ONLY, V6_ONLY, V4_PREFERRED, ALL',
    ],
    [
      'a duration without its unit',
      { name: 'echo', connect_timeout: '5' },
      'clusters[0] ("echo"): connect_timeout: expected a duration such as "1.5s", got "5"',
    ],
    [
      'a duration with more after its unit',
      { name: 'echo', connect_timeout: '1s500ms' },
      'clusters[0] ("echo"): connect_timeout: expected a duration such as "1.5s", got "1s500ms"',
    ],
    [
      'a number that does not fit',
      { name: 'echo', outlier_detection: { max_ejection_percent: -1 } },
      'clusters[0] ("echo"): outlier_detection.max_ejection_percent: expected number (uint32): -1 out of range',
    ],
    [
      'an object where a list belongs',
      { name: 'echo', load_assignment: { endpoints: {} } },
      'clusters[0] ("echo"): load_assignment.endpoints: expected a list, got an object',
    ],
    [
      'a list where an object belongs',
      { name: 'echo', eds_cluster_config: [] },
      'clusters[0] ("echo"): eds_cluster_config: expected an object, got a list',
    ],
    [
      'an element of a list',
      { name: 'echo', load_assignment: { endpoints: [{}, { prioritty: 1 }] } },
      'clusters[0] ("echo"): load_assignment.endpoints[1]: unknown field "prioritty"',
    ],
    [
      'two fields that exclude each other',
      { name: 'echo', type: 'EDS', cluster_type: { name: 'x' } },
      'clusters[0] ("echo"): cluster_type: excludes "type", which is also set',
    ],
    [
      'a field in both spellings',
      { name: 'echo', lb_policy: 'RANDOM', lbPolicy: 'RANDOM' },
      'clusters[0] ("echo"): lbPolicy: excludes "lb_policy", which is also set',
    ],
    [
      'an Any without a type',
      { name: 'echo', cluster_type: { typed_config: { clusters: [] } } },
      'clusters[0] ("echo"): cluster_type.typed_config: "@type" is missing',
    ],
    [
      'an Any of a type the schema does not have',
      { name: 'echo', cluster_type: { typed_config: { '@type': 'a/b.C' } } },
      'clusters[0] ("echo"): cluster_type.typed_config.@type: unknown type "a/b.C"',
    ],
    [
      'the content of an Any',
      {
        name: 'echo',
        cluster_type: {
          typed_config: {
            '@type': 'type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig',
            cluster: ['a'],
          },
        },
      },
      'clusters[0] ("echo"): cluster_type.typed_config: unknown field "cluster"',
    ],
    [
      'the key of a map',
      { name: 'echo', metadata: { typed_filter_metadata: { 'a b': {}, c: 1 } } },
      'clusters[0] ("echo"): metadata.typed_filter_metadata.c: expected an object, got 1',
    ],
    ['no name', { type: 'EDS' }, 'clusters[0]: name: field not present'],
    ['a name that is no text', { name: 7 }, 'clusters[0]: name: expected string, got 7'],
    [
      'another type than the list holds',
      { '@type': 'type.googleapis.com/envoy.config.listener.v3.Listener', name: 'echo' },
      'clusters[0]: @type: expected "type.googleapis.com/envoy.config.cluster.v3.Cluster", ' +
        'got "type.googleapis.com/envoy.config.listener.v3.Listener"',
    ],
    [
      'bytes of another type',
      { typeUrl: 'x', value: new Uint8Array() },
      'clusters[0]: typeUrl: expected "type.googleapis.com/envoy.config.cluster.v3.Cluster", got "x"',
    ],
    [
      'bytes without a name',
      { typeUrl: CDS, value: new Uint8Array() },
      'clusters[0]: value: the resource has no name',
    ],
  ])('reports the path of %s', (_what, resource, message) => {
    expect(problemsOf([resource])).toEqual([message]);
  });

  it('reports bytes that cannot be decoded', () => {
    expect(problemsOf([{ typeUrl: CDS, value: new Uint8Array([0xff]) }])).toEqual([
      expect.stringMatching(
        /^clusters\[0\]: value: cannot be decoded \(.+\); give a name to serve it anyway$/,
      ),
    ]);
  });

  it('reports every problem of every resource', () => {
    const text = (() => {
      try {
        const listeners: readonly Untyped[] = [{ nam: 'a' }];
        const bad: Untyped = { name: 'b', x: 1, lb_policy: 'NO', y: {} };
        Snapshot.from({ listeners, clusters: [cluster('good'), bad] });
        return '';
      } catch (error) {
        return String(error);
      }
    })();
    expect(text.split('\n')).toEqual([
      'SnapshotError: listeners[0]: name: field not present',
      'listeners[0]: unknown field "nam"',
      'clusters[1] ("b"): unknown field "x"',
      expect.stringMatching(/^clusters\[1\] \("b"\): lb_policy: "NO" is not one of ROUND_ROBIN, /),
      'clusters[1] ("b"): unknown field "y"',
    ]);
  });

  it('rejects two resources with the same name', () => {
    expect(problemsOf([cluster('a'), cluster('b'), cluster('a')])).toEqual([
      'clusters[2] ("a"): another cluster has this name',
    ]);
  });

  it('skips unknown fields with ignoreUnknownFields', () => {
    const clusters: Untyped[] = [
      { ...cluster('a'), http2_protocol_options: {}, lb_policy: 'BRAND_NEW' },
    ];
    const lenient = Snapshot.from({ clusters }, { ignoreUnknownFields: true });
    const strict = Snapshot.from({ clusters: [cluster('a')] });
    expect(lenient.set(clusterKind).version).toBe(strict.set(clusterKind).version);
    const bad: Untyped = { name: 'a', typ: 1, type: {} };
    expect(() => Snapshot.from({ clusters: [bad] }, { ignoreUnknownFields: true })).toThrow(
      /^clusters\[0\] \("a"\): type: /,
    );
  });
});

describe('a derived snapshot', () => {
  const names = (snapshot: Snapshot) => [...snapshot.set(endpointKind).byName.keys()];
  const base = Snapshot.from({ ...echo, endpoints: [endpoints('a', 1), endpoints('b', 2)] });

  it('replaces lists by `with`', () => {
    expect(names(base.with({ endpoints: [endpoints('b', 3)] }))).toEqual(['b']);
    expect(names(base.with({ endpoints: [] }))).toEqual([]);
    expect(names(base.with({ clusters: [] }))).toEqual(['a', 'b']);
  });

  it('adds and replaces resources by `merge`', () => {
    const merged = base.merge({ endpoints: [endpoints('b', 3), endpoints('c', 4)] });
    expect(names(merged)).toEqual(['a', 'b', 'c']);
    expect(merged.get(endpointKind, 'a')).toBe(base.get(endpointKind, 'a'));
    expect(merged.get(endpointKind, 'b')?.version).not.toBe(base.get(endpointKind, 'b')?.version);
    expect(() => base.merge({ endpoints: [{}] })).toThrow(SnapshotError);
  });

  it('does not change the original', () => {
    base.merge({ endpoints: [endpoints('z', 1)] });
    expect(names(base)).toEqual(['a', 'b']);
  });

  it('shares unchanged resources and versions', () => {
    const next = base.with({
      endpoints: [endpoints('a', 1), endpoints('b', 9)],
      clusters: echo.clusters,
    });
    expect(next.get(endpointKind, 'a')).toBe(base.get(endpointKind, 'a'));
    expect(next.get(endpointKind, 'b')).not.toBe(base.get(endpointKind, 'b'));
    expect(next.set(clusterKind)).toBe(base.set(clusterKind));
    expect(next.set(listenerKind)).toBe(base.set(listenerKind));
    expect(next.set(endpointKind).version).not.toBe(base.set(endpointKind).version);
  });
});

describe('versions', () => {
  const version = (...resources: readonly Untyped[]) =>
    Snapshot.from({ listeners: resources }).set(listenerKind).version;
  const [a, b] = [listener('a'), listener('b')];

  it('depend on names and bytes only', () => {
    expect(version(a, b)).toBe(version(listener('b'), listener('a')));
    expect(version(a, b)).not.toBe(version(a));
    expect(version(a)).not.toBe(version(b));
    expect(version(a)).not.toBe(version(listener('a', 'other')));
    expect(version(a)).toMatch(/^[0-9a-f]{16}$/);
    expect(version()).toBe('0000000000000000');
  });

  it('are restored when the old resources are restored', () => {
    const first = Snapshot.from({ listeners: [a] });
    const back = first.merge({ listeners: [b] }).with({ listeners: [a] });
    expect(back.set(listenerKind).version).toBe(first.set(listenerKind).version);
  });
});
