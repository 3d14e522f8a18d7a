import { conditionsOf } from '../../../packages/kubernetes/src/routes/conditions';
import { mergeParents } from '../../../packages/kubernetes/src/status/route-status';
import { clusterOf } from './cluster';
import { backend, grant, grpcRoute, headers, method, parent, ruleTo } from './manifests';
import type { Json } from '../../support/kubernetes-manifests';
import { SERVICES } from './routing-cases';

/** The conditions of a route, `Type=Status Reason`, with the message if it has one. */
function conditions(route: Json, ...others: readonly Json[]): readonly (readonly string[])[] {
  const cluster = clusterOf([...SERVICES, route, ...others]);
  const [stored] = cluster.routes.values();
  if (stored === undefined) throw new Error('no route');
  return conditionsOf(cluster, stored).map((each) =>
    each.conditions.map(({ type, status, reason, message }) =>
      [`${type}=${status} ${reason}`, message].filter((text) => text !== '').join(': '),
    ),
  );
}

const ACCEPTED = 'Accepted=True Accepted';
const RESOLVED = 'ResolvedRefs=True ResolvedRefs';
const extension = { type: 'ExtensionRef', extensionRef: { group: 'x.y', kind: 'Z', name: 'z' } };
const filterOf = (type: string) => ({ filters: [{ type }] });

describe('the conditions of a GRPCRoute', () => {
  it.each<[string, Json, readonly string[]]>([
    ['with a valid backend', grpcRoute('r', [ruleTo('a')]), [ACCEPTED, RESOLVED]],
    [
      'with a backend that does not exist',
      grpcRoute('r', [ruleTo('missing')]),
      [ACCEPTED, 'ResolvedRefs=False BackendNotFound: Service "shop/missing" was not found'],
    ],
    [
      'with a port that does not exist',
      grpcRoute('r', [{ backendRefs: [backend('a', 1, { port: 99 })] }]),
      [ACCEPTED, 'ResolvedRefs=False BackendNotFound: Service "shop/a" has no port 99'],
    ],
    [
      'with a backend of another namespace',
      grpcRoute('r', [{ backendRefs: [backend('d', 1, { namespace: 'other' })] }]),
      [
        ACCEPTED,
        'ResolvedRefs=False RefNotPermitted: Service "other/d": no ReferenceGrant of its namespace permits the reference',
      ],
    ],
    [
      'with a backend of another namespace that does not exist, as with one that does',
      grpcRoute('r', [{ backendRefs: [backend('missing', 1, { namespace: 'other' })] }]),
      [
        ACCEPTED,
        'ResolvedRefs=False RefNotPermitted: Service "other/missing": no ReferenceGrant of its namespace permits the reference',
      ],
    ],
    [
      'with a backend of another kind',
      grpcRoute('r', [{ backendRefs: [backend('a', 1, { group: 'x.y', kind: 'Bucket' })] }]),
      [
        ACCEPTED,
        'ResolvedRefs=False InvalidKind: "Bucket" of the group "x.y" is no backend: it must be a Service',
      ],
    ],
    [
      'with a Service of the type ExternalName',
      grpcRoute('r', [ruleTo('external')]),
      [
        ACCEPTED,
        'ResolvedRefs=False InvalidKind: Service "shop/external" has the type ExternalName (see CVE-2021-25740)',
      ],
    ],
    [
      'with a port of another protocol',
      grpcRoute('r', [ruleTo('sockets'), ruleTo('datagrams')]),
      [
        ACCEPTED,
        'ResolvedRefs=False UnsupportedProtocol: Service "shop/sockets": port 80 is for kubernetes.io/ws; Service "shop/datagrams": port 80 is for UDP',
      ],
    ],
    [
      'with a filter of another kind',
      grpcRoute('r', [{ ...ruleTo('a'), filters: [extension] }]),
      [
        ACCEPTED,
        'ResolvedRefs=False InvalidKind: the filter "z" of the kind "Z" and the group "x.y" is not known',
      ],
    ],
    ...['RequestHeaderModifier', 'ResponseHeaderModifier', 'RequestMirror'].map(
      (type): [string, Json, readonly string[]] => [
        `with nothing but the filter ${type}`,
        grpcRoute('r', [{ ...ruleTo('a'), ...filterOf(type) }]),
        [
          `Accepted=False IncompatibleFilters: spec.rules[0].filters[0].type: gRPC clients have no filter ${type}`,
          RESOLVED,
        ],
      ],
    ),
    [
      'with a filter of a backend in one of two rules',
      grpcRoute('r', [
        ruleTo('a'),
        { name: 'x', backendRefs: [backend('a', 1, filterOf('RequestMirror'))] },
      ]),
      [
        ACCEPTED,
        RESOLVED,
        'PartiallyInvalid=True UnsupportedValue: Dropped Rule x (spec.rules[1].backendRefs[0].filters[0].type: gRPC clients have no filter RequestMirror)',
      ],
    ],
    [
      'with a type of filter that is not known',
      grpcRoute('r', [ruleTo('a'), { ...ruleTo('a'), ...filterOf('Teapot') }]),
      [
        'Accepted=False UnsupportedValue: spec.rules[1].filters[0].type: "Teapot" is none of RequestHeaderModifier, ResponseHeaderModifier, RequestMirror, ExtensionRef',
        RESOLVED,
      ],
    ],
    [
      'with a type of header match that is not known',
      grpcRoute('r', [ruleTo('a'), ruleTo('a', headers({ x: 'y' }, 'Prefix'))]),
      [
        'Accepted=False UnsupportedValue: spec.rules[1].matches[0].headers[0].type: "Prefix" is none of Exact, RegularExpression',
        RESOLVED,
      ],
    ],
    [
      'with headers that clients cannot match',
      grpcRoute('r', [ruleTo('a', headers({ 'x-bin': 'y', 'User-Agent': 'z' }))]),
      [
        'Accepted=False UnsupportedValue: spec.rules[0].matches[0].headers[0].name: gRPC clients do not match binary headers, such as "x-bin"; ' +
          'spec.rules[0].matches[0].headers[1].name: gRPC clients add user-agent after a route is chosen, and cannot match it',
        RESOLVED,
      ],
    ],
    [
      'with an expression that is invalid',
      grpcRoute('r', [ruleTo('a', method('(', '', 'RegularExpression'))]),
      [
        'Accepted=False UnsupportedValue: spec.rules[0].matches[0].method.service: must be an RE2 expression: missing closing ): `(`',
        RESOLVED,
      ],
    ],
    [
      'with an expression that has ^ in its middle',
      grpcRoute('r', [ruleTo('a', method('(^a|^b)', '', 'RegularExpression'))]),
      [
        'Accepted=False UnsupportedValue: spec.rules[0].matches[0].method.service: may have ^ and $ at its ends only: the whole text has to match',
        RESOLVED,
      ],
    ],
    [
      'with an expression that is only valid with its ^',
      grpcRoute('r', [ruleTo('a', method('^*', '', 'RegularExpression'))]),
      [
        'Accepted=False UnsupportedValue: spec.rules[0].matches[0].method.service: must be an RE2 expression: missing argument to repetition operator: `*`',
        RESOLVED,
      ],
    ],
    [
      'with half of a character',
      grpcRoute('r', [ruleTo('a', headers({ x: 'y\ud800' }))]),
      [
        'Accepted=False UnsupportedValue: spec.rules[0].matches[0].headers[0].value: must be valid Unicode',
        RESOLVED,
      ],
    ],
    [
      'with an expression that is too large',
      grpcRoute('r', [ruleTo('a', headers({ x: '(?:\\pL{0,900}){2}' }, 'RegularExpression'))]),
      [
        'Accepted=False UnsupportedValue: spec.rules[0].matches[0].headers[0].value: the expressions of the route have a size of 1353628, and 9000 is the limit',
        RESOLVED,
      ],
    ],
    [
      'without rules',
      grpcRoute('r', []),
      ['Accepted=False UnsupportedValue: The route has no rules.', RESOLVED],
    ],
    [
      'with rules that are no list',
      grpcRoute('r', {}),
      ['Accepted=False UnsupportedValue: spec.rules: must be a list', RESOLVED],
    ],
    [
      'with fields without effect',
      grpcRoute('r', [{ ...ruleTo('a'), timeouts: {} }], { spec: { hostnames: ['x'] } }),
      ['Accepted=True Accepted: Without effect: spec.hostnames; spec.rules[].timeouts', RESOLVED],
    ],
    [
      'with a parent that does not exist',
      grpcRoute('r', [ruleTo('a')], { parents: [parent('missing')] }),
      ['Accepted=False NoMatchingParent: Service "shop/missing" was not found', RESOLVED],
    ],
    [
      'with a port that its parent does not have',
      grpcRoute('r', [ruleTo('a')], {
        parents: [parent('front', { port: 80, sectionName: 'admin' })],
      }),
      [
        'Accepted=False NoMatchingParent: Service "shop/front" has no port 80 named "admin"',
        RESOLVED,
      ],
    ],
  ])('%s', (_name, route, expected) => {
    expect(conditions(route)).toEqual([expected]);
  });

  it('are those of each parent that is a Service', () => {
    const parents = [{ name: 'front' }, parent('front', { port: 80 }), parent('b')];
    expect(conditions(grpcRoute('r', [ruleTo('a')], { parents }))).toHaveLength(2);
    expect(conditions(grpcRoute('r', [ruleTo('a')], { parents: [{ name: 'x' }] }))).toEqual([]);
  });

  it('change with a grant', () => {
    const rules = [{ backendRefs: [backend('d', 1, { namespace: 'other' })] }];
    expect(conditions(grpcRoute('r', rules), grant('other', 'shop'))).toEqual([
      [ACCEPTED, RESOLVED],
    ]);
  });

  it('name the first problems of many, and how many there are besides', () => {
    const rules = [{ backendRefs: Array.from({ length: 16 }, (_, i) => backend(`x${i}`)) }];
    const [[, resolved] = []] = conditions(grpcRoute('r', rules));
    expect(resolved).toMatch(/"shop\/x4" was not found; and 11 more$/);
  });
});

describe('the status of a GRPCRoute', () => {
  const context = { controllerName: 'x/us', generation: 3, nowMs: 1_767_225_600_123 };
  const NOW = '2026-01-01T00:00:00Z';
  const parentRef = parent();
  const wanted = [
    {
      parentRef,
      conditions: [
        { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' },
        { type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound', message: 'm' },
      ],
    },
  ] as const;
  const theirs = { parentRef, controllerName: 'y/them', conditions: [{ type: 'Accepted' }] };
  const written = (extra: Json = {}) => ({
    parentRef,
    controllerName: 'x/us',
    conditions: wanted[0].conditions.map((each) => ({
      ...each,
      observedGeneration: 3,
      lastTransitionTime: NOW,
      ...extra,
    })),
  });

  it('gets an entry for each parent', () => {
    expect(mergeParents({}, wanted, context)).toEqual([written()]);
    expect(mergeParents({ parents: 'garbage' }, wanted, context)).toEqual([written()]);
  });

  it('is not written if it says the same', () => {
    const parents = [theirs, written({ lastTransitionTime: '2025-01-01T00:00:00Z' })];
    expect(mergeParents({ parents }, wanted, context)).toBeUndefined();
    expect(mergeParents({ parents: [theirs] }, [], context)).toBeUndefined();
    expect(mergeParents({}, [], context)).toBeUndefined();
  });

  it('keeps the entries of other controllers in their places, whatever they contain', () => {
    const others = [theirs, 7, null, { controllerName: 'x/us2' }];
    expect(mergeParents({ parents: others }, wanted, context)).toEqual([...others, written()]);
    expect(mergeParents({ parents: [...others, written()] }, [], context)).toEqual(others);
  });

  it('keeps the time of a transition while the status of a condition is the same', () => {
    const before = written({ lastTransitionTime: '2025-01-01T00:00:00Z', observedGeneration: 2 });
    const after = written({ lastTransitionTime: '2025-01-01T00:00:00Z' });
    expect(mergeParents({ parents: [before] }, wanted, context)).toEqual([after]);
    const other = written({ lastTransitionTime: '2025-01-01T00:00:00Z', status: 'Unknown' });
    expect(mergeParents({ parents: [other] }, wanted, context)).toEqual([written()]);
  });

  it('loses a condition that does not hold any more, and keeps those of other types', () => {
    const { conditions: own, ...entry } = written();
    const partly = { type: 'PartiallyInvalid', status: 'True' };
    const foreign = { type: 'example.com/Checked', status: 'True' };
    const parents = [{ ...entry, conditions: [partly, foreign, ...own] }];
    expect(mergeParents({ parents }, wanted, context)).toEqual([
      { ...entry, conditions: [...own, foreign] },
    ]);
  });

  it('loses the entry of a parent that the route has no longer', () => {
    const old = { ...written(), parentRef: parent('old') };
    expect(mergeParents({ parents: [old, theirs] }, wanted, context)).toEqual([theirs, written()]);
  });

  it('has 32 entries at most', () => {
    const parents = Array.from({ length: 32 }, () => theirs);
    expect(mergeParents({ parents }, wanted, context)).toBeUndefined();
    expect(mergeParents({ parents: parents.slice(1) }, wanted, context)).toHaveLength(32);
  });
});
