import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import { parse } from 'yaml';
import { parseResourceFile } from '../../src/control-plane';
import { echo } from './resources';

const root = join(__dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const validate = new Ajv({
  strict: false,
  // Of timestamps only, which resources do not have.
  validateFormats: false,
}).compile(JSON.parse(read('packages/cli/schemas/resources.json')) as object);

const TYPE = 'type.googleapis.com';
const cluster = (changes: object) => ({ clusters: [{ name: 'a', ...changes }] });
const policy = (typed_config: object) =>
  cluster({
    load_balancing_policy: { policies: [{ typed_extension_config: { name: 'p', typed_config } }] },
  });
const route = (changes: object) => ({
  routes: [
    {
      name: 'r',
      virtual_hosts: [
        { name: 'v', domains: ['*'], routes: [{ match: { prefix: '' }, ...changes }] },
      ],
    },
  ],
});
const ringHash = `${TYPE}/envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash`;

const VALID: Readonly<Record<string, unknown>> = {
  'the resources of other tests': echo,
  'examples/echo.yaml': parse(read('examples/echo.yaml')),
  'the resources of the demo': parse(read('examples/demo/resources.yaml')),
  'an empty object': {},
  'its schema, a version and anchors': { $schema: 'x', version_info: 7, 'x-a': [] },
  'null for lists and fields': { listeners: null, ...cluster({ type: null, lrs_server: null }) },
  'names in camelCase': {
    endpoints: [{ clusterName: 'a', endpoints: [{ lbEndpoints: [], priority: 1 }] }],
  },
  'numbers as text': cluster({
    circuit_breakers: { thresholds: [{ max_requests: '7' }, { maxRequests: 7 }] },
  }),
  'numbers of enums': cluster({ type: 3 }),
  'fields of Envoy': cluster({ http2_protocol_options: { x: 1 }, dnsRefreshRate: '5s' }),
  durations: cluster({ connect_timeout: '0.250s' }),
  'a typed config': policy({ '@type': ringHash, minimum_ring_size: '7' }),
  'a typed config with another prefix': policy({ '@type': ringHash.replace(TYPE, 'x/y') }),
  'a config in a struct': policy({
    '@type': `${TYPE}/xds.type.v3.TypedStruct`,
    type_url: 'x/y',
    value: { a: [1, { b: null }] },
  }),
  'a special type in an Any': policy({
    '@type': `${TYPE}/google.protobuf.Struct`,
    value: { a: 1 },
  }),
  'a route with weights': route({
    route: { weighted_clusters: { clusters: [{ name: 'a', weight: 1 }] } },
  }),
  'a list with types': {
    resources: [
      { '@type': `${TYPE}/envoy.config.cluster.v3.Cluster`, name: 'a', type: 'EDS' },
      { '@type': `${TYPE}/envoy.config.endpoint.v3.ClusterLoadAssignment`, cluster_name: 'a' },
    ],
  },
  'a wrapper': {
    clusters: [
      {
        '@type': `${TYPE}/envoy.service.discovery.v3.Resource`,
        version: '7',
        ttl: '5s',
        resource: { '@type': `${TYPE}/envoy.config.cluster.v3.Cluster`, name: 'a' },
      },
    ],
  },
};

const INVALID: Readonly<Record<string, unknown>> = {
  'an unknown list': { listener: [] },
  'a list that is an object': { clusters: {} },
  'a resource that is text': { clusters: ['a'] },
  'a resource without a name': { clusters: [{ type: 'EDS' }] },
  'an unknown field': cluster({ connect_timout: '1s' }),
  'an unknown field, deep': route({ route: { clustr: 'a' } }),
  'a number for text': { clusters: [{ name: 7 }] },
  'text for a list': cluster({ transport_socket_matches: 'a' }),
  'an unknown value of an enum': cluster({ type: 'EDSS' }),
  'a number that is too large': cluster({
    circuit_breakers: { thresholds: [{ max_requests: 2 ** 32 }] },
  }),
  'a negative number': cluster({ circuit_breakers: { thresholds: [{ max_requests: -1 }] } }),
  'a duration without a unit': cluster({ connect_timeout: '5' }),
  'a flag that is text': cluster({ respect_x: 'true' }),
  'an unknown type': policy({ '@type': `${TYPE}/a.B` }),
  'an unknown field of a typed config': policy({ '@type': ringHash, ring_size: 1 }),
  'a config without a type': policy({ minimum_ring_size: 7 }),
  'two fields of a oneof': route({ route: { cluster: 'a', cluster_header: 'b' } }),
  'a type of another list': {
    clusters: [{ '@type': `${TYPE}/envoy.config.listener.v3.Listener`, name: 'a' }],
  },
  'a list without types': { resources: [{ name: 'a' }] },
  'a list with an unknown type': { resources: [{ '@type': `${TYPE}/a.B`, name: 'a' }] },
  'a wrapper without a resource': {
    clusters: [{ '@type': `${TYPE}/envoy.service.discovery.v3.Resource`, version: '7' }],
  },
};

const isParsed = (json: unknown) =>
  parseResourceFile(JSON.stringify(json), 'f.json', { allowInconsistent: true });

describe('packages/cli/schemas/resources.json', () => {
  it('is what the generator writes', () => {
    const script = join(root, 'scripts', 'schemas.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, '--check']);
    expect(String(stderr)).toBe('');
    expect(status).toBe(0);
  });

  it.each(Object.entries(VALID))('accepts what the parser accepts: %s', (_name, json) => {
    expect(isParsed(json)).toMatchObject({ ok: true });
    validate(json);
    expect(validate.errors ?? []).toEqual([]);
  });

  it.each(Object.entries(INVALID))('rejects what the parser rejects: %s', (_name, json) => {
    expect(isParsed(json).ok).toBe(false);
    expect(validate(json)).toBe(false);
  });
});
