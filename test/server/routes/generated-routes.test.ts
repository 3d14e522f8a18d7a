import { Status } from '../../../src/grpc-js';
import type { Refusal } from '../../../src/authorization/refusal';
import { seededRandom } from '../../support/seeded-random';
import type { Json } from '../../support/xds-json';
import { denyPrefix, judge, rbac, rbacOverride, ServerScene } from './tables';

const TABLES = 120;
const REQUESTS = 20;

/** What an RBAC filter does: `deny` the paths with a prefix, `allow` only those, or nothing. */
type Rules = { readonly action: 'deny' | 'allow'; readonly prefix: string } | 'none';

/** An override of a filter: other rules, or off. */
type Override = Rules | 'disabled';

interface SampleRoute {
  readonly kind: 'prefix' | 'path';
  readonly text: string;
  /** The value that the header `x` must have; `undefined` for any. */
  readonly x: string | undefined;
  readonly isServed: boolean;
  readonly overrides: Readonly<Record<string, Override>>;
}

interface SampleHost {
  readonly name: string;
  readonly domains: readonly string[];
  readonly routes: readonly SampleRoute[];
  readonly overrides: Readonly<Record<string, Override>>;
}

interface SampleFilter {
  readonly name: string;
  readonly rules: Rules;
  readonly disabled: boolean;
}

const FILTER_CONFIG = 'type.googleapis.com/envoy.config.route.v3.FilterConfig';

const rulesJson = (rules: Rules): Json | undefined =>
  rules === 'none'
    ? undefined
    : { ...denyPrefix(rules.prefix), action: rules.action.toUpperCase() };

const overridesJson = (overrides: Readonly<Record<string, Override>>): Json => ({
  typed_per_filter_config: Object.fromEntries(
    Object.entries(overrides).map(([name, override]) => [
      name,
      override === 'disabled'
        ? { '@type': FILTER_CONFIG, disabled: true }
        : rbacOverride(rulesJson(override)),
    ]),
  ),
});

const routeJson = ({ kind, text, x, isServed, overrides }: SampleRoute): Json => ({
  match: {
    [kind]: text,
    ...(x !== undefined && { headers: [{ name: 'x', string_match: { exact: x } }] }),
  },
  ...(isServed ? { non_forwarding_action: {} } : { route: { cluster: 'c' } }),
  ...overridesJson(overrides),
});

/** Decides by the rules themselves, one after the other. */
function decide(
  filters: readonly SampleFilter[],
  hosts: readonly SampleHost[],
  request: { readonly host: string; readonly path: string; readonly x: string },
): string {
  const rankOf = (domain: string) => {
    const name = request.host.toLowerCase();
    if (domain === '*') return 1;
    const text = domain.toLowerCase().replace('*', '');
    if (domain.startsWith('*')) return name.endsWith(text) && name !== text ? 200 + text.length : 0;
    if (domain.endsWith('*')) return name.startsWith(text) && name !== text ? 100 + text.length : 0;
    return name === text ? 300 : 0;
  };
  const ranked = hosts.map((host) => ({ host, rank: Math.max(0, ...host.domains.map(rankOf)) }));
  const best = ranked.sort((a, b) => b.rank - a.rank)[0];
  if (best === undefined || best.rank === 0) return 'no host';
  const { path } = request;
  const route = best.host.routes.find(
    ({ kind, text, x }) =>
      (kind === 'path' ? path === text : path.startsWith(text)) &&
      (x === undefined || x === request.x),
  );
  if (route === undefined) return 'no route';
  for (const { name, rules, disabled } of filters) {
    const override = route.overrides[name] ?? best.host.overrides[name];
    if (override === undefined ? disabled : override === 'disabled') continue;
    const applied = override ?? rules;
    if (applied === 'none' || applied === 'disabled') continue;
    if (path.startsWith(applied.prefix) === (applied.action === 'deny'))
      return `denied by "${name}"`;
  }
  return route.isServed ? 'passed on' : 'wrong action';
}

function outcomeOf(refusal: Refusal | undefined): string {
  if (refusal === undefined) return 'passed on';
  const { code, reason } = refusal;
  if (code === Status.PERMISSION_DENIED) return /^denied by "\w"/.exec(reason)?.[0] ?? reason;
  if (code !== Status.UNAVAILABLE) return reason;
  if (reason.startsWith('No virtual host')) return 'no host';
  return reason.startsWith('No route') ? 'no route' : 'wrong action';
}

it('judges requests as a second evaluator does, which reads the rules themselves', () => {
  const random = seededRandom(41);
  const one = <T>(...choices: readonly [T, ...T[]]): T =>
    choices[Math.floor(random() * choices.length)] ?? choices[0];
  const many = <T>(most: number, make: (i: number) => T): readonly T[] =>
    Array.from({ length: Math.floor(random() * (most + 1)) }, (_, i) => make(i));
  const path = () => one('/a/x', '/a/xy', '/b/x', '/A/x');
  const prefix = () => one('/', '/a', '/a/', '/a/x', '/b/');
  const rules = (): Rules =>
    random() < 0.5 ? 'none' : { action: one('deny', 'allow'), prefix: prefix() };
  const override = (): Override => (random() < 0.5 ? 'disabled' : rules());
  const overrides = (): SampleRoute['overrides'] =>
    Object.fromEntries(many(2, () => [one('p', 'q', 'r', 'none'), override()]));
  const route = (): SampleRoute => ({
    ...(random() < 0.5 ? { kind: 'path', text: path() } : { kind: 'prefix', text: prefix() }),
    x: one(undefined, undefined, '1', '2'),
    isServed: random() < 0.8,
    overrides: overrides(),
  });
  const counts = new Map<string, number>();
  for (let i = 0; i < TABLES; i++) {
    const free = new Set(['a.b', 'A.c', '*.b', '*b', 'a.*', 'a*', '*', 'x']);
    const hosts = many(4, (j): SampleHost => {
      const domains = [...free].filter(() => random() < 0.3);
      for (const domain of domains) free.delete(domain);
      const name = `h${j}`;
      return { name, domains, routes: many(6, route), overrides: overrides() };
    }).filter(({ domains }) => domains.length > 0);
    const filters = ['p', 'q', 'r'].slice(0, one(0, 1, 2, 3)).map((name): SampleFilter => ({
      ...{ name, rules: rules(), disabled: random() < 0.2 },
    }));
    const table = new ServerScene().table(
      filters.map((filter) => ({
        ...rbac(filter.name, rulesJson(filter.rules)),
        disabled: filter.disabled,
      })),
      hosts.map(({ name, domains, routes, overrides: own }) => ({
        ...{ name, domains, routes: routes.map(routeJson) },
        ...overridesJson(own),
      })),
    );
    for (let j = 0; j < REQUESTS; j++) {
      const request = {
        host: one('a.b', 'A.B', 'a.c', 'x.b', 'b', 'a.', 'y'),
        path: path(),
        x: one('1', '2'),
      };
      const expected = decide(filters, hosts, request);
      const refusal = judge(table, request.path, request.host, { headers: { x: request.x } });
      const own = outcomeOf(refusal);
      counts.set(expected, (counts.get(expected) ?? 0) + 1);
      if (own === expected) continue;
      throw new Error(`${own}, not ${expected}: ${JSON.stringify({ filters, hosts, request })}`);
    }
  }
  // Each outcome is frequent, or this would not say much.
  const outcomes = ['no host', 'no route', 'wrong action', 'passed on', 'denied by "p"'];
  for (const outcome of outcomes) expect(counts.get(outcome)).toBeGreaterThan(30);
});
