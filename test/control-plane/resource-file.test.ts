import { join } from 'node:path';
import {
  loadResourceFile,
  openResourceText,
  parseResourceFile,
  Snapshot,
  type ResourceFileOptions,
} from '../../src/control-plane';
import {
  clusterKind,
  endpointKind,
  listenerKind,
  resourceKinds,
  routeKind,
} from '../../src/control-plane/resource';
import { echo } from './resources';
import { XdsError } from '../../src/util/xds-error';

const examples = join(__dirname, '..', '..', 'examples');

/** Returns the snapshot of a valid file. */
function parse(text: string, options?: ResourceFileOptions): Snapshot {
  const result = parseResourceFile(text, 'f.yaml', options);
  if (!result.ok) throw result.error;
  return result.value;
}

/** Returns the lines of the error of an invalid file. */
function fail(text: string, options?: ResourceFileOptions): readonly string[] {
  const result = parseResourceFile(text, 'f.yaml', options);
  return result.ok ? [] : result.error.message.split('\n');
}

const namesOf = (snapshot: Snapshot) =>
  resourceKinds.map((kind) => [...snapshot.set(kind).byName.keys()]);

describe('a resource file', () => {
  it('accepts JSON with the lists of Snapshot.from', () => {
    const text = JSON.stringify(echo, undefined, '\t');
    const snapshot = parse(text);
    const direct = Snapshot.from(echo);
    for (const kind of resourceKinds) {
      expect(snapshot.set(kind).version).toBe(direct.set(kind).version);
    }
  });

  it('accepts resources of any kind with their type', () => {
    const text = `
version_info: '7'
resources:
  - '@type': type.googleapis.com/envoy.config.cluster.v3.Cluster
    name: a
    type: EDS
  - '@type': type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
    clusterName: a
clusters: [{ name: b, type: LOGICAL_DNS }]
routes:
route_configs: []
`;
    expect(namesOf(parse(text))).toEqual([['a', 'b'], ['a'], [], []]);
  });

  it('accepts anchors, aliases and merge keys', () => {
    const text = `
x-templates:
  eds: &eds { type: EDS, connect_timeout: 1s }
clusters:
  - { <<: *eds, name: a }
  - { <<: *eds, name: b, type: LOGICAL_DNS }
`;
    const snapshot = parse(text, { allowInconsistent: true });
    const direct = Snapshot.from({
      clusters: [
        { name: 'a', type: 'EDS', connect_timeout: '1s' },
        { name: 'b', type: 'LOGICAL_DNS', connect_timeout: '1s' },
      ],
    });
    expect(snapshot.set(clusterKind).version).toBe(direct.set(clusterKind).version);
  });

  it('accepts resources named like properties of Object.prototype', () => {
    const text = '{"endpoints": [{"cluster_name": "__proto__"}, {"cluster_name": "constructor"}]}';
    expect(namesOf(parse(text))[1]).toEqual(['__proto__', 'constructor']);
  });

  it('accepts unknown fields and values with ignoreUnknownFields', () => {
    const text = 'clusters: [{ name: a, alt_stat_nam: b }]';
    expect(fail(text)).toEqual(['f.yaml:1:23: clusters[0] ("a"): unknown field "alt_stat_nam"']);
    expect(namesOf(parse(text, { ignoreUnknownFields: true }))[0]).toEqual(['a']);
  });

  it.each<[field: string, value: string]>([
    [
      'filter_chains',
      '[{ filters: [{ name: t, typed_config: { "@type": type.test/Unknown, port: 1 } }] }]',
    ],
    [
      'defaultFilterChain',
      '{ filters: [{ name: t, typed_config: { "@type": type.test/Unknown } }] }',
    ],
  ])('accepts a listener of Envoy whose %s have extensions that are not known', (field, value) => {
    const text = (with_: string) => `listeners: [{ name: a, ${field}: ${with_} }]`;
    // They are sent as what they are: a server rejects them.
    const sent = parse(text(value)).get(listenerKind, 'a')?.value;
    expect(Buffer.from(sent ?? []).toString('latin1')).toContain('/Unknown');
    expect(fail(text(value.replace('name: t', 'nam: t')))[0]).toContain('unknown field "nam"');
  });

  it('leaves out no filter chain with a mistake: its connections would get to another one', () => {
    const chains = '[{ filters: [], filter_chain_match: { source_port: [1] } }]';
    const text = `listeners: [{ name: a, default_filter_chain: {}, filter_chains: ${chains} }]`;
    expect(fail(text)).toEqual([
      'f.yaml:1:103: listeners[0] ("a"): filter_chains[0].filter_chain_match: unknown field "source_port"',
    ]);
  });

  it('shares unchanged resources with the previous snapshot', () => {
    const before = parse('clusters: [{ name: a }, { name: b }]');
    const after = parseResourceFile(
      'clusters: [{ name: a }, { name: b, lb_policy: RANDOM }]\nlisteners: []',
      'f.yaml',
      {},
      before,
    );
    if (!after.ok) throw after.error;
    expect(after.value.get(clusterKind, 'a')).toBe(before.get(clusterKind, 'a'));
    expect(after.value.get(clusterKind, 'b')).not.toBe(before.get(clusterKind, 'b'));
  });

  it.each<[string, string, readonly string[]]>([
    [
      'an empty file',
      '',
      [
        'f.yaml:1:1: expected an object with resources, listeners, routes, route_configs, clusters, endpoints, got nothing',
      ],
    ],
    [
      'a list',
      '\n- name: a',
      [
        'f.yaml:2:1: expected an object with resources, listeners, routes, route_configs, clusters, endpoints, got a list',
      ],
    ],
    [
      'unknown keys',
      'clusters: []\nstatic_resources: {}\n__proto__: []\n',
      [
        'f.yaml:2:1: unknown key "static_resources"; expected resources, listeners, routes, route_configs, clusters, endpoints, or x-… for anchors',
        'f.yaml:3:1: unknown key "__proto__"; expected resources, listeners, routes, route_configs, clusters, endpoints, or x-… for anchors',
      ],
    ],
    [
      'an object where a list belongs',
      'clusters:\n  name: a\n',
      ['f.yaml:1:1: clusters: expected a list, got an object'],
    ],
    [
      'text where a resource belongs',
      'clusters: [a]',
      ['f.yaml:1:12: clusters[0]: expected an object, got "a"'],
    ],
    [
      'a resource without a name',
      'clusters:\n  - type: EDS\n',
      ['f.yaml:2:5: clusters[0]: name: field not present'],
    ],
    [
      'a resource without a type',
      'resources:\n  - name: a\n',
      ['f.yaml:2:5: resources[0]: "@type" is missing'],
    ],
    [
      'a resource of an unsupported type',
      'resources:\n  - name: a\n    "@type": type.googleapis.com/google.protobuf.Struct',
      [
        'f.yaml:3:5: resources[0]: @type: unknown resource type "type.googleapis.com/google.protobuf.Struct"',
      ],
    ],
    [
      'several problems',
      `
clusters:
  - name: echo
    typ: EDS
  - name: other
    edsClusterConfig:
      edsConfig:
        ads: {}
      serviceName: [x]
    lbPolicy: FASTEST
`,
      [
        'f.yaml:4:5: clusters[0] ("echo"): unknown field "typ"',
        'f.yaml:9:7: clusters[1] ("other"): edsClusterConfig.serviceName: expected string, got Array(1)',
        'f.yaml:10:5: clusters[1] ("other"): lbPolicy: "FASTEST" is not one of ROUND_ROBIN, LEAST_REQUEST, RING_HASH, RANDOM, MAGLEV, CLUSTER_PROVIDED, LOAD_BALANCING_POLICY_CONFIG',
      ],
    ],
    [
      'a problem in an alias',
      'x-a: &a\n  - { priorityy: 1 }\nendpoints:\n  - cluster_name: e\n    endpoints: *a\n',
      ['f.yaml:2:7: endpoints[0] ("e"): endpoints[0]: unknown field "priorityy"'],
    ],
    [
      'two resources of one name',
      'clusters:\n  - name: a\nresources:\n  - { name: a, "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster }\n',
      ['f.yaml:4:5: resources[0] ("a"): another cluster has this name'],
    ],
    [
      'dangling references',
      `
clusters:
  - { name: other }
  - name: echo
    type: EDS
    edsClusterConfig:
      serviceName: nowhere
resources:
  - '@type': type.googleapis.com/envoy.config.route.v3.RouteConfiguration
    name: r
    virtual_hosts:
      - routes:
          - { route: { cluster: other } }
          - route:
              cluster: missing
`,
      [
        'f.yaml:7:7: cluster "echo": eds_cluster_config.service_name: endpoint assignment "nowhere" is not in the snapshot',
        'f.yaml:15:15: route configuration "r": virtual_hosts[0].routes[1].route.cluster: cluster "missing" is not in the snapshot',
      ],
    ],
    ['a text that is no YAML', 'clusters:\n  - name: "a\n', ['f.yaml:3:1: Missing closing "quote']],
    ['a key given twice', 'clusters: []\nclusters: []\n', ['f.yaml:2:1: Map keys must be unique']],
    [
      'an alias without its anchor',
      'clusters: *nothing',
      ['f.yaml:1:11: Unresolved alias (the anchor must be set before the alias): nothing'],
    ],
    [
      'more than one document',
      'clusters: []\n---\nclusters: []\n',
      ['f.yaml:2:1: expected the end of the file after one document'],
    ],
  ])('is rejected with line and column for %s', (_what, text, lines) => {
    expect(fail(text)).toEqual(lines);
  });

  it('accepts dangling references with allowInconsistent', () => {
    const text = 'clusters: [{ name: a, type: EDS }]';
    expect(fail(text)).toHaveLength(1);
    expect(namesOf(parse(text, { allowInconsistent: true }))[0]).toEqual(['a']);
  });

  it('that does not exist is an error', () => {
    const path = join(examples, 'no-such-file.yaml');
    const result = loadResourceFile(path);
    expect(result.ok ? '' : result.error.message).toBe(
      `${path}: cannot be read: ENOENT: no such file or directory, open '${path}'`,
    );
  });

  it('that is a directory is an error', () => {
    const result = loadResourceFile(examples);
    expect(result.ok ? '' : result.error.message).toContain(
      'cannot be read: a directory, not a regular file',
    );
  });
});

describe('examples/echo.yaml', () => {
  it('is valid, and has two clusters and two localities', () => {
    const result = loadResourceFile(join(examples, 'echo.yaml'));
    if (!result.ok) throw result.error;
    const counts = [listenerKind, routeKind, clusterKind, endpointKind].map(
      (kind) => result.value.set(kind).byName.size,
    );
    expect(counts).toEqual([1, 1, 2, 2]);
  });
});

it.each([
  [[undefined, 'f.yaml'], 'text of openResourceText() must be a string, not undefined'],
  [
    ['listeners: []'],
    'path of openResourceText() must be a string that is not empty, not undefined',
  ],
  [['listeners: []', 'f.yaml', { foo: 1 }], 'unknown option "foo" of openResourceText()'],
])('openResourceText refuses %j', (args, text) => {
  expect(() => Reflect.apply(openResourceText, undefined, args)).toThrow(XdsError);
  expect(() => Reflect.apply(openResourceText, undefined, args)).toThrow(`grpc-xds: ${text}`);
});
