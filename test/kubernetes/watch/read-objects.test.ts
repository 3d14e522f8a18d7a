import type { WatchedKind } from '../../../packages/kubernetes/src/api/watched-kinds';
import { OBJECT_LIMITS } from '../../../packages/kubernetes/src/object-limits';
import { readObjectOf } from '../../../packages/kubernetes/src/read-objects';
import { toApiJson } from '../../../packages/kubernetes/src/write-objects';
import {
  grantJson,
  nodeJson,
  routeJson,
  serviceJson,
  sliceJson,
} from '../../support/kubernetes-objects';

function read(kind: WatchedKind, json: unknown) {
  const object = readObjectOf(kind, json);
  return object.ok ? object.value : object.error.violations;
}

const meta = { name: 'a', namespace: 'shop', resourceVersion: '1' };
const slice = (endpoints: unknown, more: object = {}) => ({
  metadata: meta,
  addressType: 'IPv4',
  endpoints,
  ...more,
});

it('reads a service with its defaults', () => {
  expect(read('Service', { metadata: meta, spec: {} })).toEqual({
    kind: 'Service',
    meta: {
      ...meta,
      uid: '',
      generation: 0,
      createdMs: 0,
      labels: new Map(),
      annotations: new Map(),
    },
    type: 'ClusterIP',
    externalName: '',
    ports: [],
    isHeadless: false,
    ipFamilies: [],
    publishesNotReady: false,
    trafficDistribution: undefined,
    isNodeLocal: false,
    hasClientAffinity: false,
  });
});

it('reads what a service says', () => {
  const spec = {
    type: 'LoadBalancer',
    clusterIP: 'None',
    ipFamilies: ['IPv6', 'IPv4'],
    publishNotReadyAddresses: true,
    trafficDistribution: 'PreferClose',
    internalTrafficPolicy: 'Local',
    sessionAffinity: 'ClientIP',
    ports: [{ port: 443, name: 'x', appProtocol: 'kubernetes.io/h2c', targetPort: 'named' }],
  };
  expect(read('Service', { metadata: meta, spec })).toMatchObject({
    type: 'LoadBalancer',
    isHeadless: true,
    ipFamilies: ['IPv6', 'IPv4'],
    publishesNotReady: true,
    trafficDistribution: 'PreferSameZone',
    isNodeLocal: true,
    hasClientAffinity: true,
    ports: [{ port: 443, name: 'x', protocol: 'TCP', appProtocol: 'kubernetes.io/h2c' }],
  });
  expect(read('Service', { metadata: meta, spec: { trafficDistribution: 'New' } })).toMatchObject({
    trafficDistribution: undefined,
  });
});

it('reads conditions that are not given as the API says', () => {
  const conditions = [undefined, null, {}, { ready: false }, { ready: false, serving: true }];
  const endpoints = conditions.map((each) => ({
    addresses: ['10.0.0.1', '10.0.0.2'],
    conditions: each,
  }));
  expect(read('EndpointSlice', slice(endpoints))).toMatchObject({
    endpoints: [
      { address: '10.0.0.1', isReady: true, isServing: true, isTerminating: false },
      { isReady: true, isServing: true },
      { isReady: true, isServing: true },
      { isReady: false, isServing: false },
      { isReady: false, isServing: true },
    ],
  });
});

it('leaves out what controllers change without effect', () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', a: 'b' };
  expect(read('Service', { metadata: { ...meta, annotations }, spec: {} })).toMatchObject({
    meta: { annotations: new Map([['a', 'b']]) },
  });
  const json = slice([]);
  expect(read('EndpointSlice', { ...json, metadata: { ...meta, annotations } })).toMatchObject({
    meta: { annotations: new Map() },
  });
  expect(read('Node', nodeJson('n', 'z'))).toMatchObject({
    region: 'r',
    zone: 'z',
    meta: { labels: new Map() },
  });
});

const many = (count: number, item: unknown) => Array.from({ length: count }, () => item);
const endpoint = { addresses: ['10.0.0.1'] };

it.each<[WatchedKind, unknown, string]>([
  ['Service', null, 'must be an object'],
  ['Service', [], 'must be an object'],
  ['Service', {}, 'metadata: must be an object'],
  ['Service', { metadata: { name: 'a' }, spec: {} }, 'metadata.namespace: must not be empty'],
  ['Service', { metadata: { namespace: 'a' }, spec: {} }, 'metadata.name: must not be empty'],
  [
    'Service',
    { metadata: { name: 'a/b', namespace: 'c' }, spec: {} },
    'metadata: a name must not have a slash',
  ],
  [
    'Service',
    { metadata: { ...meta, name: 'x'.repeat(254) }, spec: {} },
    'metadata.name: 254 characters, more than 253',
  ],
  [
    'Service',
    { metadata: { ...meta, annotations: { a: 'x'.repeat(300_000) } }, spec: {} },
    'metadata.annotations: 300001 characters, more than 262144',
  ],
  [
    'Service',
    { metadata: { ...meta, labels: { a: 1 } }, spec: {} },
    'metadata.labels["a"]: must be a string',
  ],
  ['Service', { metadata: meta }, 'spec: must be an object'],
  [
    'Service',
    { metadata: meta, spec: { ports: [{ port: 0 }] } },
    'spec.ports[0].port: must be a whole number from 1 to 65535',
  ],
  [
    'Service',
    { metadata: meta, spec: { ports: many(1001, {}) } },
    'spec.ports: 1001 elements, more than 1000',
  ],
  ['EndpointSlice', { metadata: meta }, 'addressType: field not present'],
  ['EndpointSlice', slice({}), 'endpoints: must be a list'],
  ['EndpointSlice', slice(many(1001, endpoint)), 'endpoints: 1001 elements, more than 1000'],
  ['EndpointSlice', slice([{}]), 'endpoints[0].addresses[0]: must be a string'],
  [
    'EndpointSlice',
    slice([{ addresses: ['::1'] }]),
    'endpoints[0].addresses[0]: "::1" is no such address',
  ],
  [
    'EndpointSlice',
    slice([endpoint, { ...endpoint, conditions: { ready: 'yes' } }]),
    'endpoints[1].conditions.ready: must be a boolean',
  ],
  [
    'EndpointSlice',
    slice([{ ...endpoint, hints: { forZones: many(101, {}) } }]),
    'endpoints[0].hints.forZones: 101 elements, more than 100',
  ],
  [
    'EndpointSlice',
    slice([], { ports: [{ port: 70_000 }] }),
    'ports[0].port: must be a whole number from 1 to 65535',
  ],
  ['GRPCRoute', { metadata: meta, spec: [] }, 'spec: must be an object'],
  ['GRPCRoute', { metadata: meta, spec: {}, status: 1 }, 'status: must be an object'],
  [
    'ReferenceGrant',
    { metadata: meta, spec: { from: [{}] } },
    'spec.from[0].namespace: field not present',
  ],
])('refuses a %s with the path of the field (%#)', (kind, json, violation) => {
  expect(read(kind, json)).toContain(violation);
});

it('names the key of what it refuses, if there is one', () => {
  expect(readObjectOf('Service', { metadata: meta })).toMatchObject({ error: { key: 'shop/a' } });
  expect(readObjectOf('Node', { metadata: { name: 7 } })).toMatchObject({
    error: { key: undefined },
  });
});

it('reads what it reads as large as it may be', () => {
  const full = slice(many(OBJECT_LIMITS.endpointsPerSlice, endpoint));
  expect(read('EndpointSlice', full)).toMatchObject({ kind: 'EndpointSlice' });
});

const terminating = {
  ...endpoint,
  hostname: 'h',
  nodeName: 'n',
  zone: 'z',
  targetRef: { kind: 'Pod', uid: 'u' },
  conditions: { ready: false, serving: true, terminating: true },
  hints: { forZones: [{ name: 'z1' }], forNodes: [{ name: 'n1' }] },
};

it.each<[WatchedKind, object]>([
  ['Service', serviceJson('a', { annotations: { a: 'b' }, labels: { c: 'd' } })],
  [
    'Service',
    serviceJson(
      'a',
      {},
      {
        type: 'ExternalName',
        externalName: 'x.example',
        clusterIP: 'None',
        publishNotReadyAddresses: true,
        trafficDistribution: 'PreferSameNode',
        internalTrafficPolicy: 'Local',
        sessionAffinity: 'ClientIP',
        ipFamilies: ['IPv4'],
      },
    ),
  ],
  ['EndpointSlice', sliceJson('a-1', 'a', ['10.0.0.1', terminating])],
  ['EndpointSlice', slice([], { ports: [{}] })],
  ['Node', nodeJson('n', 'z')],
  ['GRPCRoute', { ...routeJson('r', 'a', ['b']), status: { parents: [] } }],
  ['ReferenceGrant', grantJson('g', 'lab', 'shop')],
])('reads a saved %s as it was (%#)', (kind, json) => {
  const before = readObjectOf(kind, {
    ...json,
    metadata: {
      ...('metadata' in json ? Object(json.metadata) : {}),
      creationTimestamp: '2026-11-24T10:00:00Z',
    },
  });
  if (!before.ok || before.value.kind === 'Namespace') throw new Error('not read');
  const saved: unknown = JSON.parse(JSON.stringify(toApiJson(before.value)));
  expect(readObjectOf(kind, saved)).toEqual(before);
});
