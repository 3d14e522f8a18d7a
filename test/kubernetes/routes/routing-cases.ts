// Where calls go by GRPCRoutes: cases from the text of Gateway API (GRPCRoute, GEP-1016, GEP-1294), for calls to the port 80 of the
// Service `front` in the namespace `shop`.

import { backend, grant, grpcRoute, headers, method, parent, ruleTo, service } from './manifests';
import type { Json } from '../../support/kubernetes-manifests';

/** A call of a client. */
interface RoutedCall {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The namespace of the client. Default: that of the Service. */
  readonly from?: string;
}

/** The Service that a call reaches, or the status with which it fails. */
export type Outcome = string | number;

export interface RoutingCase {
  readonly name: string;
  /** Objects besides {@link SERVICES}. */
  readonly objects: readonly Json[];
  readonly call: RoutedCall;
  /** The one outcome, or the share of calls that have each. */
  readonly expected: Outcome | ReadonlyMap<Outcome, number>;
}

const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;

/** The share of calls that have each outcome. */
export function sharesOf({ expected }: RoutingCase): ReadonlyMap<Outcome, number> {
  return typeof expected === 'object' ? expected : new Map([[expected, 1]]);
}

/** The Services of all cases. Those of other namespaces have other names, so that a name is enough. */
export const SERVICES: readonly Json[] = [
  service('front', {
    ports: [
      { name: 'grpc', port: 80, protocol: 'TCP' },
      { name: 'admin', port: 81, protocol: 'TCP' },
    ],
  }),
  ...['a', 'b', 'c'].map((name) => service(name)),
  ...['d', 'e'].map((name) => service(name, { namespace: 'other' })),
  service('external', { type: 'ExternalName' }),
  service('datagrams', { ports: [{ name: 'grpc', port: 80, protocol: 'UDP' }] }),
  service('dual', {
    ports: [
      { name: 'udp', port: 80, protocol: 'UDP' },
      { name: 'tcp', port: 80, protocol: 'TCP' },
    ],
  }),
  service('sockets', {
    ports: [{ name: 'ws', port: 80, protocol: 'TCP', appProtocol: 'kubernetes.io/ws' }],
  }),
];

const SAY = { path: '/test.Echo/Say' };
const SAY_V2 = { ...SAY, headers: { version: '2' } };

/** A case of one route in the namespace of the Service. */
function one(
  name: string,
  rules: unknown,
  expected: RoutingCase['expected'],
  call: RoutedCall = SAY,
): RoutingCase {
  return { name, objects: [grpcRoute('route', rules)], call, expected };
}

function several(
  name: string,
  objects: readonly Json[],
  expected: RoutingCase['expected'],
  call: RoutedCall = SAY,
): RoutingCase {
  return { name, objects, call, expected };
}

const matches: readonly RoutingCase[] = [
  several('no route: the Service itself', [], 'front'),
  one('a rule without matches takes every call', [ruleTo('a')], 'a'),
  one('an empty match takes every call', [ruleTo('a', {})], 'a'),
  one('an empty method takes every call', [ruleTo('a', { method: {} })], 'a'),
  one('service and method', [ruleTo('a', method('test.Echo', 'Say'))], 'a'),
  one('another method of the service', [ruleTo('a', method('test.Echo', 'Shout'))], UNIMPLEMENTED),
  one('the method of another service', [ruleTo('a', method('test.Other', 'Say'))], UNIMPLEMENTED),
  one('a service alone', [ruleTo('a', method('test.Echo'))], 'a'),
  one('a service whose name only begins so', [ruleTo('a', method('test.Ech'))], UNIMPLEMENTED),
  one('a method alone', [ruleTo('a', method('', 'Say'))], 'a'),
  one('a method whose name only begins so', [ruleTo('a', method('', 'Sa'))], UNIMPLEMENTED),
  one('a service in another case', [ruleTo('a', method('Test.Echo'))], UNIMPLEMENTED),
  one('a method in another case', [ruleTo('a', method('test.Echo', 'say'))], UNIMPLEMENTED),
  one('the type Exact by name', [ruleTo('a', method('test.Echo', 'Say', 'Exact'))], 'a'),
  one('a dot that is no expression', [ruleTo('a', method('testxEcho'))], UNIMPLEMENTED),
  one(
    'an expression for the service',
    [ruleTo('a', method('test\\.[A-Z].*', '', 'RegularExpression'))],
    'a',
  ),
  one(
    'an expression matches whole names',
    [ruleTo('a', method('test', '', 'RegularExpression'))],
    UNIMPLEMENTED,
  ),
  one('an expression for the method', [ruleTo('a', method('', 'Sa.', 'RegularExpression'))], 'a'),
  one(
    'expressions for both',
    [ruleTo('a', method('test\\.(Echo|Other)', 'S(ay|hout)', 'RegularExpression'))],
    'a',
  ),
  one(
    'an expression with ^ and $',
    [ruleTo('a', method('^test\\.Echo$', '^Say$', 'RegularExpression'))],
    'a',
  ),
  one(
    'alternatives at the top of an expression',
    [ruleTo('a', method('x|test\\.Echo', 'Say|y', 'RegularExpression'))],
    'a',
  ),
  one(
    'an expression in any case',
    [ruleTo('a', method('(?i)^TEST\\.echo$', '', 'RegularExpression'))],
    'a',
  ),
  one(
    'a service of an expression does not take in the method',
    [ruleTo('a', method('test\\.Echo/S', 'ay', 'RegularExpression'))],
    UNIMPLEMENTED,
  ),
  one('one of several matches', [ruleTo('a', method('x.Y'), method('test.Echo'))], 'a'),
];

const headerCases: readonly RoutingCase[] = [
  one('a header', [ruleTo('a', headers({ version: '2' }))], 'a', SAY_V2),
  one('a header that is missing', [ruleTo('a', headers({ version: '2' }))], UNIMPLEMENTED),
  one(
    'a header of another value',
    [ruleTo('a', headers({ version: '22' }))],
    UNIMPLEMENTED,
    SAY_V2,
  ),
  one(
    'the name of a header in another case',
    [ruleTo('a', headers({ Version: '2' }))],
    'a',
    SAY_V2,
  ),
  one(
    'two headers, one missing',
    [ruleTo('a', headers({ version: '2', user: 'x' }))],
    UNIMPLEMENTED,
    SAY_V2,
  ),
  one('two headers', [ruleTo('a', headers({ version: '2', user: 'x' }))], 'a', {
    ...SAY,
    headers: { version: '2', user: 'x' },
  }),
  one(
    'an expression for a header',
    [ruleTo('a', headers({ version: '[0-9]' }, 'RegularExpression'))],
    'a',
    SAY_V2,
  ),
  one(
    'an expression matches a whole header',
    [ruleTo('a', headers({ version: '[0-9]' }, 'RegularExpression'))],
    UNIMPLEMENTED,
    { ...SAY, headers: { version: '22' } },
  ),
  one(
    'the first of two conditions on one header',
    [
      ruleTo('a', {
        headers: [
          { name: 'version', value: '2' },
          { name: 'VERSION', value: '3' },
        ],
      }),
    ],
    'a',
    SAY_V2,
  ),
  one(
    'method and header, of which one matches',
    [ruleTo('a', { ...method('test.Echo'), ...headers({ version: '2' }) })],
    UNIMPLEMENTED,
  ),
];

const precedence: readonly RoutingCase[] = [
  one('a service before any call', [ruleTo('a'), ruleTo('b', method('test.Echo'))], 'b'),
  one(
    'a method before its service',
    [ruleTo('a', method('test.Echo')), ruleTo('b', method('test.Echo', 'Say'))],
    'b',
  ),
  one(
    'a service before a method of any service',
    [ruleTo('a', method('', 'Say')), ruleTo('b', method('test.Echo'))],
    'b',
  ),
  one(
    'a service before headers',
    [ruleTo('a', headers({ version: '2' })), ruleTo('b', method('test.Echo'))],
    'b',
    SAY_V2,
  ),
  one(
    'a method before headers',
    [
      ruleTo('a', { ...method('test.Echo'), ...headers({ version: '2' }) }),
      ruleTo('b', method('test.Echo', 'Say')),
    ],
    'b',
    SAY_V2,
  ),
  one(
    'more headers first',
    [ruleTo('a', headers({ version: '2' })), ruleTo('b', headers({ version: '2', user: 'x' }))],
    'b',
    { ...SAY, headers: { version: '2', user: 'x' } },
  ),
  one(
    'conditions on one header count once',
    [
      ruleTo('a', {
        headers: [
          { name: 'version', value: '2' },
          { name: 'Version', value: '2' },
        ],
      }),
      ruleTo('b', headers({ version: '2' })),
    ],
    'a',
    SAY_V2,
  ),
  one(
    'the longer expression for a service',
    [
      ruleTo('a', method('test.*', '', 'RegularExpression')),
      ruleTo('b', method('test\\.E.*', '', 'RegularExpression')),
    ],
    'b',
  ),
  one(
    'an exact service before a longer expression',
    [
      ruleTo('a', method('test\\.(Echo|Other|Third)', '', 'RegularExpression')),
      ruleTo('b', method('test.Echo')),
    ],
    'b',
  ),
  one('the first of equal rules', [ruleTo('a'), ruleTo('b')], 'a'),
  one(
    'the first of equal rules that both match by a header',
    [ruleTo('a', headers({ version: '2' })), ruleTo('b', headers({ user: 'x' }))],
    'a',
    { ...SAY, headers: { version: '2', user: 'x' } },
  ),
  one(
    'each match of a rule by itself',
    [ruleTo('a', {}, method('test.Echo', 'Say')), ruleTo('b', method('test.Echo'))],
    'a',
  ),
  several(
    'the older of two routes',
    [
      grpcRoute('a', [ruleTo('a')], { createdS: 2 }),
      grpcRoute('z', [ruleTo('b')], { createdS: 1 }),
    ],
    'b',
  ),
  several(
    'the first of two routes of one age by name',
    [grpcRoute('z', [ruleTo('a')]), grpcRoute('y', [ruleTo('b')])],
    'b',
  ),
  several(
    'a match of a younger route that is more exact',
    [
      grpcRoute('a', [ruleTo('a')]),
      grpcRoute('b', [ruleTo('b', method('test.Echo'))], { createdS: 9 }),
    ],
    'b',
  ),
  several(
    'the rules of two routes together',
    [
      grpcRoute('a', [ruleTo('a', method('test.Other'))]),
      grpcRoute('b', [ruleTo('b', method('test.Echo'))]),
    ],
    'b',
  ),
];

const half = (other: Outcome): RoutingCase['expected'] =>
  new Map<Outcome, number>([
    ['a', 0.5],
    [other, 0.5],
  ]);

const backends: readonly RoutingCase[] = [
  one('equal weights', [{ backendRefs: [backend('a'), backend('b')] }], half('b')),
  one(
    'weights',
    [{ backendRefs: [backend('a', 6), backend('b', 3), backend('c', 1)] }],
    new Map([
      ['a', 0.6],
      ['b', 0.3],
      ['c', 0.1],
    ]),
  ),
  one('a backend of the weight 0', [{ backendRefs: [backend('a', 0), backend('b')] }], 'b'),
  one('the weight of the only backend', [{ backendRefs: [backend('a', 7)] }], 'a'),
  one('weights of 0 alone', [{ backendRefs: [backend('a', 0)] }], UNAVAILABLE),
  one(
    'a backend that is there twice',
    [{ backendRefs: [backend('a', 1), backend('b', 2), backend('a', 1)] }],
    half('b'),
  ),
  one('the Service itself as a backend', [ruleTo('front')], 'front'),
  one('no backends', [{}], UNAVAILABLE),
  one('a backend that does not exist', [ruleTo('missing')], UNAVAILABLE),
  one(
    'a backend without the port',
    [{ backendRefs: [backend('a', 1, { port: 99 })] }],
    UNAVAILABLE,
  ),
  one('a reference without a port', [{ backendRefs: [{ name: 'a' }] }], UNAVAILABLE),
  one(
    'half of the weight at what does not exist',
    [{ backendRefs: [backend('a'), backend('missing')] }],
    half(UNAVAILABLE),
  ),
  one(
    'half of the weight at what does not exist, beside the Service itself',
    [{ backendRefs: [backend('a'), backend('missing', 2), backend('front')] }],
    new Map<Outcome, number>([
      ['a', 0.25],
      ['front', 0.25],
      [UNAVAILABLE, 0.5],
    ]),
  ),
  one(
    'what does not exist with the weight 0',
    [{ backendRefs: [backend('a'), backend('missing', 0)] }],
    'a',
  ),
  one(
    'a backend of another kind',
    [{ backendRefs: [backend('a', 1, { group: 'example.com', kind: 'Bucket' })] }],
    UNAVAILABLE,
  ),
  one(
    'a backend of another kind in the core group',
    [{ backendRefs: [backend('a', 1, { kind: 'ConfigMap' })] }],
    UNAVAILABLE,
  ),
  one('a Service of the type ExternalName', [ruleTo('external')], UNAVAILABLE),
  one('a port of UDP', [ruleTo('datagrams')], UNAVAILABLE),
  one('a port of UDP and TCP', [ruleTo('dual')], 'dual'),
  one('a port of WebSockets', [ruleTo('sockets')], UNAVAILABLE),
  one(
    'calls of a rule that fails do not take another one',
    [ruleTo('missing', method('test.Echo')), ruleTo('a')],
    UNAVAILABLE,
  ),
];

const extension = { type: 'ExtensionRef', extensionRef: { group: 'x.y', kind: 'Z', name: 'z' } };
const modifier = { type: 'RequestHeaderModifier', requestHeaderModifier: { remove: ['x'] } };

const filters: readonly RoutingCase[] = [
  one(
    'a filter that is not known, as if all backends were invalid',
    [{ ...ruleTo('a'), filters: [extension] }],
    UNAVAILABLE,
  ),
  one(
    'a filter of a backend that is not known',
    [{ backendRefs: [backend('a'), backend('b', 1, { filters: [extension] })] }],
    half(UNAVAILABLE),
  ),
  one(
    'a rule with a filter of the API is dropped',
    [{ ...ruleTo('a', method('test.Echo')), filters: [modifier] }, ruleTo('b')],
    'b',
  ),
  one(
    'a route with nothing but such rules has no effect',
    [{ ...ruleTo('a'), filters: [modifier] }],
    'front',
  ),
  one(
    'a rule with an invalid expression is dropped',
    [ruleTo('a', method('(', '', 'RegularExpression')), ruleTo('b')],
    'b',
  ),
  one(
    'a rule with an expression that is only valid with others is dropped',
    [ruleTo('a', method('a)(b', '', 'RegularExpression')), ruleTo('b')],
    'b',
  ),
  one(
    'a route with a type of match that is not known has no effect',
    [ruleTo('a', method('test.Echo', '', 'Glob')), ruleTo('b')],
    'front',
  ),
  one(
    'a rule with session persistence is dropped',
    [{ ...ruleTo('a', method('test.Echo')), sessionPersistence: { type: 'Header' } }, ruleTo('b')],
    'b',
  ),
  one('a route without rules has no effect', [], 'front'),
];

const other = { namespace: 'other' };
const FROM_OTHER = { ...SAY, from: 'other' };
const consumer = (rules: unknown, extra: Json = {}) =>
  grpcRoute('consumer', rules, { ...other, ...extra });

const namespaces: readonly RoutingCase[] = [
  several(
    'a route of the Service binds callers of other namespaces',
    [grpcRoute('a', [ruleTo('a')])],
    'a',
    FROM_OTHER,
  ),
  several('a route of the callers', [consumer([ruleTo('d')])], 'd', FROM_OTHER),
  several('a route of other callers', [consumer([ruleTo('d')])], 'front'),
  several('a route of other callers, of a third namespace', [consumer([ruleTo('d')])], 'front', {
    ...SAY,
    from: 'third',
  }),
  several(
    'a route of the callers instead of one of the Service',
    [
      grpcRoute('a', [ruleTo('a', method('test.Echo', 'Say'))]),
      consumer([ruleTo('d')], { createdS: 9 }),
    ],
    'd',
    FROM_OTHER,
  ),
  several(
    'the routes of the callers without a match',
    [grpcRoute('a', [ruleTo('a')]), consumer([ruleTo('d', method('test.Other'))])],
    UNIMPLEMENTED,
    FROM_OTHER,
  ),
  several(
    'a route of the callers that has no effect',
    [grpcRoute('a', [ruleTo('a')]), consumer([{ ...ruleTo('d'), filters: [modifier] }])],
    'a',
    FROM_OTHER,
  ),
  several(
    'a route of the callers back to the Service, which needs no grant',
    [consumer([{ backendRefs: [backend('front', 1, { namespace: 'shop' })] }])],
    'front',
    FROM_OTHER,
  ),
  several(
    'a route of the callers to another Service of that namespace',
    [consumer([{ backendRefs: [backend('a', 1, { namespace: 'shop' })] }])],
    UNAVAILABLE,
    FROM_OTHER,
  ),
  several(
    '… with a grant',
    [consumer([{ backendRefs: [backend('a', 1, { namespace: 'shop' })] }]), grant('shop', 'other')],
    'a',
    FROM_OTHER,
  ),
];

const toOther = [{ backendRefs: [backend('d', 1, other)] }];

const grants: readonly RoutingCase[] = [
  one('a backend of another namespace without a grant', toOther, UNAVAILABLE),
  several(
    '… with a grant of its namespace',
    [grpcRoute('a', toOther), grant('other', 'shop')],
    'd',
  ),
  several(
    '… with a grant for its name',
    [grpcRoute('a', toOther), grant('other', 'shop', { name: 'd' })],
    'd',
  ),
  several(
    '… with a grant for another name',
    [grpcRoute('a', toOther), grant('other', 'shop', { name: 'e' })],
    UNAVAILABLE,
  ),
  several(
    '… with a grant for another namespace',
    [grpcRoute('a', toOther), grant('other', 'third')],
    UNAVAILABLE,
  ),
  several(
    '… with a grant of the wrong namespace',
    [grpcRoute('a', toOther), grant('shop', 'shop')],
    UNAVAILABLE,
  ),
  several(
    '… with a grant for another kind of route',
    [grpcRoute('a', toOther), grant('other', 'shop', {}, { kind: 'HTTPRoute' })],
    UNAVAILABLE,
  ),
  several(
    '… with a grant for another kind of backend',
    [grpcRoute('a', toOther), grant('other', 'shop', { kind: 'Secret' })],
    UNAVAILABLE,
  ),
];

const parents: readonly RoutingCase[] = [
  several(
    'a route of the port',
    [grpcRoute('a', [ruleTo('a')], { parents: [parent('front', { port: 80 })] })],
    'a',
  ),
  several(
    'a route of another port',
    [grpcRoute('a', [ruleTo('a')], { parents: [parent('front', { port: 81 })] })],
    'front',
  ),
  several(
    'a route of the name of the port',
    [grpcRoute('a', [ruleTo('a')], { parents: [parent('front', { sectionName: 'grpc' })] })],
    'a',
  ),
  several(
    'a route of the name of another port',
    [grpcRoute('a', [ruleTo('a')], { parents: [parent('front', { sectionName: 'admin' })] })],
    'front',
  ),
  several(
    'a route whose port and name are of two ports',
    [
      grpcRoute('a', [ruleTo('a')], {
        parents: [parent('front', { port: 80, sectionName: 'admin' })],
      }),
    ],
    'front',
  ),
  several(
    'a route of both ports, one after the other',
    [
      grpcRoute('a', [ruleTo('a')], {
        parents: [parent('front', { port: 81 }), parent('front', { port: 80 })],
      }),
    ],
    'a',
  ),
  several(
    'a route of another Service',
    [grpcRoute('a', [ruleTo('a')], { parents: [parent('b')] })],
    'front',
  ),
  several(
    'a route of a Gateway of the same name',
    [grpcRoute('a', [ruleTo('a')], { parents: [{ name: 'front' }] })],
    'front',
  ),
  several(
    'a route of a Gateway and the Service',
    [grpcRoute('a', [ruleTo('a')], { parents: [{ name: 'front' }, parent()] })],
    'a',
  ),
  several(
    'host names have no effect',
    [grpcRoute('a', [ruleTo('a')], { spec: { hostnames: ['example.com'] } })],
    'a',
  ),
];

export const ROUTING_CASES: readonly RoutingCase[] = [
  ...[matches, headerCases, precedence, backends, filters, namespaces, grants, parents].flat(),
];
