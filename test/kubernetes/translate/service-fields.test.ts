import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubernetesSource } from '../../../packages/kubernetes/src/kubernetes-source';
import { resourceKinds } from '../../../src/control-plane/resource';
import {
  endpointManifest as endpoint,
  nodeManifest,
  objectsOf,
  serviceManifest,
  sliceManifest,
  type Json,
} from '../../support/kubernetes-manifests';
import { withValue } from '../json-paths';

const ROOT = join(__dirname, '../../..');
const MODELS = join(ROOT, 'node_modules/@kubernetes/client-node/dist/gen/models');

/** The fields of the classes of the official client, of which the structure of the API is the source. */
function fieldsOf(model: string): readonly { readonly name: string; readonly type: string }[] {
  const text = readFileSync(join(MODELS, `${model}.js`), 'utf8');
  const pattern = /"baseName": "([^"]+)",\s+"type": "([^"]+)"/g;
  return [...text.matchAll(pattern)].map(([, name = '', type = '']) => ({ name, type }));
}

/** Those whose fields are in the table; of others, the table has them as a whole. */
const OPENED = new Set([
  'V1Service',
  'V1ServiceSpec',
  'V1ServicePort',
  'V1ServiceStatus',
  'V1SessionAffinityConfig',
  'V1ClientIPConfig',
  'V1EndpointSlice',
  'V1Endpoint',
  'V1EndpointConditions',
  'V1EndpointHints',
  'V1ForZone',
  'V1ForNode',
  'DiscoveryV1EndpointPort',
]);

function pathsOf(model: string, prefix = ''): readonly string[] {
  return fieldsOf(model).flatMap(({ name, type }) => {
    if (['apiVersion', 'kind'].includes(name)) return [];
    const [, element] = /^Array<(\w+)>$/.exec(type) ?? [];
    const inner = element ?? type;
    if (!OPENED.has(inner)) return [`${prefix}${name}`];
    return pathsOf(inner, `${prefix}${name}${element === undefined ? '' : '[]'}.`);
  });
}

/** The parts of the metadata that are not the same in each object, or of the API server only. */
const METADATA = ['name', 'namespace', 'annotations', 'labels'].map((name) => `metadata.${name}`);

const withMetadata = (paths: readonly string[]) => [
  ...METADATA,
  ...paths.filter((path) => path !== 'metadata'),
];

/** The rows of a table, by field. */
function rowsOf(title: string): ReadonlyMap<string, string> {
  const page = readFileSync(join(ROOT, 'docs/reference/kubernetes.md'), 'utf8');
  const table = page.slice(page.indexOf(`| ${title} `)).split('\n\n')[0] ?? '';
  return new Map(
    [...table.matchAll(/^\| `([^`]+)` +\| ([a-z, ]+?) +\|/gm)].map(([, path = '', effect = '']) => [
      path,
      effect,
    ]),
  );
}

/** A change of a field, with what else it needs to have an effect. */
interface Sample {
  readonly from?: unknown;
  readonly to: unknown;
  readonly service?: Json;
  readonly endpoint?: Json;
}

const pod = { targetRef: { kind: 'Pod', uid: 'p' } };
const preferring = { trafficDistribution: 'PreferSameZone' };
const notReady = (serving: boolean, terminating: boolean) => ({
  conditions: { ready: false, serving, terminating },
});

const SERVICE_SAMPLES: Readonly<Record<string, Sample>> = {
  'metadata.name': { to: 'c' },
  'metadata.namespace': { to: 'other' },
  'metadata.annotations': { to: { 'grpc-xds/max-requests': '5', 'grpc-xds/lb-policy': 'fastest' } },
  'metadata.labels': { to: { app: 'a' } },
  'spec.allocateLoadBalancerNodePorts': { to: false },
  'spec.clusterIP': { to: 'None' },
  'spec.clusterIPs': { to: ['10.96.0.9'] },
  'spec.externalIPs': { to: ['192.0.2.1'] },
  'spec.externalName': { from: 'b.example', to: 'c.example', service: { type: 'ExternalName' } },
  'spec.externalTrafficPolicy': { to: 'Local' },
  'spec.healthCheckNodePort': { to: 30_001 },
  'spec.internalTrafficPolicy': { to: 'Local' },
  'spec.ipFamilies': { to: ['IPv6', 'IPv4'], endpoint: pod },
  'spec.ipFamilyPolicy': { to: 'RequireDualStack' },
  'spec.loadBalancerClass': { to: 'x/y' },
  'spec.loadBalancerIP': { to: '192.0.2.1' },
  'spec.loadBalancerSourceRanges': { to: ['192.0.2.0/24'] },
  'spec.ports[].appProtocol': { to: 'https' },
  'spec.ports[].name': { to: 'http' },
  'spec.ports[].nodePort': { to: 30_000 },
  'spec.ports[].port': { to: 81 },
  'spec.ports[].protocol': { to: 'UDP' },
  'spec.ports[].targetPort': { to: 9090 },
  'spec.publishNotReadyAddresses': { to: true, endpoint: notReady(false, false) },
  'spec.selector': { to: { app: 'b' } },
  'spec.sessionAffinity': { to: 'ClientIP' },
  'spec.sessionAffinityConfig.clientIP.timeoutSeconds': {
    to: 5,
    service: { sessionAffinity: 'ClientIP' },
  },
  'spec.trafficDistribution': { to: 'PreferSameZone' },
  'spec.type': { to: 'ExternalName', service: { externalName: 'b.example' } },
  'status.conditions': { to: [{ type: 'Ready', status: 'False' }] },
  'status.loadBalancer': { to: { ingress: [{ ip: '192.0.2.1' }] } },
};

const SLICE_SAMPLES: Readonly<Record<string, Sample>> = {
  'metadata.name': { to: 'a-9' },
  'metadata.namespace': { to: 'other' },
  'metadata.annotations': { to: { 'grpc-xds/max-requests': '5' } },
  'metadata.labels': { to: { 'kubernetes.io/service-name': 'b' } },
  addressType: { from: 'IPv4', to: 'FQDN' },
  'endpoints[].addresses': { to: ['10.0.0.9'] },
  'endpoints[].conditions.ready': { to: false },
  'endpoints[].conditions.serving': { to: false, endpoint: notReady(true, true) },
  'endpoints[].conditions.terminating': { to: true, endpoint: notReady(true, false) },
  'endpoints[].deprecatedTopology': { to: { 'topology.kubernetes.io/zone': 'y' } },
  'endpoints[].hints.forNodes[].name': {
    from: 'n1',
    to: 'n2',
    service: { trafficDistribution: 'PreferSameNode' },
  },
  'endpoints[].hints.forZones[].name': { from: 'x', to: 'y', service: preferring },
  'endpoints[].hostname': { to: 'a-0' },
  'endpoints[].nodeName': { to: 'n2', service: { internalTrafficPolicy: 'Local' } },
  'endpoints[].targetRef': { to: { kind: 'Pod', uid: 'q' }, endpoint: pod },
  'endpoints[].zone': { to: 'y', service: preferring },
  'ports[].appProtocol': { to: 'https' },
  'ports[].name': { to: 'http' },
  'ports[].port': { to: 9090 },
  'ports[].protocol': { to: 'UDP' },
};

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}

function change(manifest: Json, path: string, value: unknown): Json {
  const changed = value === undefined ? manifest : withValue(manifest, path.split('.'), value);
  if (!isJson(changed)) throw new TypeError('not an object');
  return changed;
}

/** What clients receive of objects, and the problems of services. */
function effectsOf(...manifests: readonly Json[]) {
  const objects = objectsOf(...manifests);
  const source = new KubernetesSource({ objects });
  const keys = [...objects.services.keys()];
  source.apply({ services: new Set(keys) });
  const resources = [undefined, 'n1', 'n2'].flatMap((nodeName) => {
    const served = source.resourcesOf({ zone: undefined, namespace: undefined, nodeName });
    const placed = source.resourcesOf({
      zone: nodeName === 'n1' ? 'x' : 'y',
      namespace: undefined,
      nodeName,
    });
    return [served, placed].flatMap((each) =>
      resourceKinds.map(({ typeUrl }) =>
        [...(each.set(typeUrl)?.byName ?? [])]
          .map(([name, { version }]) => `${name} ${version}`)
          .sort(),
      ),
    );
  });
  return { resources, problems: keys.map((key) => source.problemsOf(key).length) };
}

function findEffect(kind: 'Service' | 'EndpointSlice', path: string, sample: Sample): string {
  const service = serviceManifest('a', sample.service);
  const pair = [endpoint('10.0.0.1', { nodeName: 'n1', zone: 'x', ...sample.endpoint })];
  const slice = sliceManifest('a', pair, { name: 'a-1' });
  const others = [
    nodeManifest('n1', 'x'),
    nodeManifest('n2', 'y'),
    sliceManifest('a', [endpoint('10.0.0.5', { zone: 'y', nodeName: 'n2' })], { name: 'a-2' }),
    sliceManifest('a', [endpoint('fd00::1', { ...pod, zone: 'x', nodeName: 'n1' })], {
      name: 'a-3',
      addressType: 'IPv6',
    }),
  ];
  const effects = [sample.from, sample.to].map((value) =>
    kind === 'Service'
      ? effectsOf(change(service, path, value), slice, ...others)
      : effectsOf(service, change(slice, path, value), ...others),
  );
  const [before, after] = effects.map((each) => each);
  const isUsed = JSON.stringify(before?.resources) !== JSON.stringify(after?.resources);
  const hasEvent = (after?.problems[0] ?? 0) > (before?.problems[0] ?? 0);
  return [isUsed ? 'used' : 'no effect', ...(hasEvent ? ['event'] : [])].join(', ');
}

describe.each([
  ['Service', 'V1Service', 'Field of a Service', SERVICE_SAMPLES],
  ['EndpointSlice', 'V1EndpointSlice', 'Field of an EndpointSlice', SLICE_SAMPLES],
] as const)('the table of the fields of %s', (kind, model, title, samples) => {
  const rows = rowsOf(title);

  it('has each field of the API', () => {
    const paths = withMetadata(pathsOf(model));
    expect(paths.length).toBeGreaterThan(15);
    expect([...rows.keys()].sort()).toEqual([...paths].sort());
    expect(Object.keys(samples).sort()).toEqual([...paths].sort());
  });

  it.each(Object.entries(samples))('says what %s does', (path, sample) => {
    expect(rows.get(path)).toBe(findEffect(kind, path, sample));
  });
});
