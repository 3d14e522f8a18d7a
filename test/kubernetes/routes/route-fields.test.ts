import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { conditionsOf } from '../../../packages/kubernetes/src/routes/conditions';
import { routesOfService } from '../../../packages/kubernetes/src/routes/service-routes';
import { mergeParents } from '../../../packages/kubernetes/src/status/route-status';
import { withValue } from '../json-paths';
import type { Json } from '../../support/kubernetes-manifests';
import { clusterOf } from './cluster';
import { GRPC_ROUTE_FIELDS } from './grpc-route-fields';
import { backend, grant, grpcRoute, parent } from './manifests';
import { SERVICES } from './routing-cases';

const PAGE = join(__dirname, '../../../docs/reference/kubernetes.md');

const text = readFileSync(PAGE, 'utf8');

/** The effect of each field in the table of the page. */
const rows = new Map(
  [
    ...text
      .slice(text.indexOf('| Field of a GRPCRoute '))
      .matchAll(/^\| `((?:spec|status)\.[^`]+)` +\| ([a-z ]+?) +\|/gm),
  ].map(([, path = '', effect = '']) => [path, effect]),
);

const ROUTE = grpcRoute(
  'route',
  [
    {
      name: 'first',
      matches: [
        {
          method: { type: 'Exact', service: 'test.Echo', method: 'Say' },
          headers: [{ type: 'Exact', name: 'version', value: '2' }],
        },
      ],
      backendRefs: [backend('a', 1, { group: '', kind: 'Service' }), backend('b')],
    },
  ],
  { parents: [parent('front', { port: 80, sectionName: 'grpc' })] },
);

const FILTERS: Readonly<Record<string, readonly [type: string, value: Json]>> = {
  requestHeaderModifier: ['RequestHeaderModifier', { remove: ['x'] }],
  responseHeaderModifier: ['ResponseHeaderModifier', { remove: ['x'] }],
  requestMirror: ['RequestMirror', { backendRef: backend('c') }],
  extensionRef: ['ExtensionRef', { group: 'x.y', kind: 'Z', name: 'z' }],
};

/** Another value of each field of the specification; of a filter, the whole list. */
const SAMPLES: Readonly<Record<string, unknown>> = {
  'spec.hostnames': ['example.com'],
  'spec.useDefaultGateways': 'All',
  'spec.parentRefs[].group': 'gateway.networking.k8s.io',
  'spec.parentRefs[].kind': 'Gateway',
  'spec.parentRefs[].name': 'b',
  'spec.parentRefs[].namespace': 'other',
  'spec.parentRefs[].port': 81,
  'spec.parentRefs[].sectionName': 'admin',
  'spec.rules[].name': 'second',
  'spec.rules[].matches[].method.type': 'RegularExpression',
  'spec.rules[].matches[].method.service': 'test.Other',
  'spec.rules[].matches[].method.method': 'Shout',
  'spec.rules[].matches[].headers[].type': 'RegularExpression',
  'spec.rules[].matches[].headers[].name': 'user',
  'spec.rules[].matches[].headers[].value': '3',
  'spec.rules[].backendRefs[].group': 'x.y',
  'spec.rules[].backendRefs[].kind': 'Bucket',
  'spec.rules[].backendRefs[].name': 'c',
  'spec.rules[].backendRefs[].namespace': 'granted',
  'spec.rules[].backendRefs[].port': 81,
  'spec.rules[].backendRefs[].weight': 2,
  'spec.rules[].sessionPersistence': { type: 'Header' },
};

/** The routes of the Service, and how many conditions of the route are not fulfilled. */
function effectsOf(route: unknown): { readonly routes: string; readonly refusals: number } {
  const granted = [
    ...['granted'].map((namespace) => ({
      ...SERVICES[1],
      metadata: { name: 'a', namespace },
    })),
    grant('granted', 'shop'),
  ];
  const twoPorts = [80, 81].map((port) => ({ name: `p${port}`, port, protocol: 'TCP' }));
  const a = { ...SERVICES[1], spec: { ports: twoPorts } };
  const manifest = Object.fromEntries(Object.entries(route ?? {}));
  const cluster = clusterOf([...SERVICES, a, ...granted, manifest]);
  const front = cluster.services.get('shop/front');
  const [port] = front?.ports ?? [];
  const [stored] = cluster.routes.values();
  if (front === undefined || port === undefined || stored === undefined) throw new Error('nothing');
  const conditions = conditionsOf(cluster, stored).flatMap((each) => each.conditions);
  const unfulfilled = conditions.filter(
    ({ type, status, reason }) =>
      (status === 'False' && reason !== 'NoMatchingParent') || type === 'PartiallyInvalid',
  );
  const { routes } = routesOfService(cluster, front, port, undefined);
  return { routes: JSON.stringify(routes), refusals: unfulfilled.length };
}

/** Returns the route with another value of a field. */
function change(path: string): unknown {
  const [, filters = '', name = ''] = /^(.*filters\[\])\.(\w+)$/.exec(path) ?? [];
  if (name === '') return withValue(ROUTE, path.split('.'), SAMPLES[path]);
  const [type, value] = FILTERS[name] ?? ['RequestHeaderModifier', {}];
  return withValue(ROUTE, filters.split('.'), {
    type,
    ...(name === 'type' ? {} : { [name]: value }),
  });
}

function effectOf(path: string): string {
  const [before, after] = [effectsOf(ROUTE), effectsOf(change(path))];
  if (after.refusals > before.refusals) return 'refused';
  return after.routes === before.routes ? 'no effect' : 'used';
}

/** Returns the paths of the fields of an object that have none of their own. */
function leavesOf(json: unknown, path: string): readonly string[] {
  if (Array.isArray(json)) return json.flatMap((each) => leavesOf(each, `${path}[]`));
  if (typeof json !== 'object' || json === null) return [path];
  return Object.entries(json).flatMap(([name, value]) => leavesOf(value, `${path}.${name}`));
}

describe('the table of the fields of GRPCRoute', () => {
  it('has each field of the API, or the refused field around it', () => {
    const refused = [...rows].filter(([, effect]) => effect === 'refused').map(([path]) => path);
    const rowOf = (field: string) =>
      rows.has(field) ? field : refused.find((path) => field.startsWith(`${path}.`));
    expect(GRPC_ROUTE_FIELDS.filter((field) => rowOf(field) === undefined)).toEqual([]);
    const needed = new Set(GRPC_ROUTE_FIELDS.map(rowOf));
    expect([...rows.keys()].filter((path) => !needed.has(path))).toEqual([]);
  });

  it.each([...rows].filter(([path]) => path.startsWith('spec.')))(
    'says what %s does',
    (path, effect) => {
      expect(effectOf(path)).toBe(effect);
    },
  );

  it('has the fields of the status that are written', () => {
    const cluster = clusterOf([...SERVICES, ROUTE]);
    const [stored] = cluster.routes.values();
    if (stored === undefined) throw new Error('no route');
    const context = { controllerName: 'x/y', generation: 1, nowMs: 0 };
    const parents = mergeParents({}, conditionsOf(cluster, stored), context);
    const written = [...rows].filter(([, effect]) => effect === 'written').map(([path]) => path);
    expect([...new Set(leavesOf(parents, 'status.parents'))].sort()).toEqual(written.sort());
  });
});
