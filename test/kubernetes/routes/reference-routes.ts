// Which of the routes of a virtual host a call takes, from their JSON: it shares no code with src/ and knows only what the routes of
// GRPCRoutes may have.

import type { Json } from '../../support/kubernetes-manifests';

/** A cluster, or the status of a fault. */
type Target = string | number;

/** Returns the share of calls that reach each cluster or fail with a status. */
export function judgeCall(
  routes: readonly unknown[],
  path: string,
  headers: Readonly<Record<string, string>>,
): ReadonlyMap<Target, number> {
  const shares = new Map<Target, number>();
  let left = 1;
  for (const route of routes) {
    const { match, route: action, typed_per_filter_config: overrides } = asObject(route);
    if (!matches(asObject(match), path, headers)) continue;
    const share = left * fractionOf(asObject(match));
    const status = faultOf(overrides);
    const targets: ReadonlyMap<Target, number> =
      status === undefined ? clustersOf(asObject(action)) : new Map([[status, 1]]);
    for (const [target, part] of targets) {
      shares.set(target, (shares.get(target) ?? 0) + share * part);
    }
    left -= share;
    if (left <= 0) break;
  }
  if (left > 1e-9) throw new Error(`${left} of the calls have no route`);
  return shares;
}

function matches(match: Json, path: string, headers: Readonly<Record<string, string>>): boolean {
  const { prefix, path: exact, safe_regex: regex, headers: conditions = [] } = match;
  const isPath =
    (typeof prefix === 'string' && path.startsWith(prefix)) ||
    exact === path ||
    (regex !== undefined && matchesWhole(regex, path));
  return (
    isPath &&
    asList(conditions).every((condition) => {
      const { name, exact_match: value, safe_regex_match: expression } = asObject(condition);
      const header = headers[String(name)];
      if (header === undefined) return false;
      return value === undefined ? matchesWhole(expression, header) : header === value;
    })
  );
}

/** The expressions of the cases mean the same to the engine of JavaScript, but for flags in their middle. */
function matchesWhole(matcher: unknown, text: string): boolean {
  const expression = String(asObject(matcher)['regex']);
  const flags = expression.includes('(?i)') ? 'i' : '';
  return new RegExp(`^(?:${expression.replace('(?i)', '')})$`, flags).test(text);
}

function fractionOf({ runtime_fraction: fraction }: Json): number {
  if (fraction === undefined) return 1;
  const { numerator, denominator } = asObject(asObject(fraction)['default_value']);
  if (denominator !== 'MILLION') throw new Error(`denominator ${String(denominator)}`);
  return Number(numerator) / 1_000_000;
}

function faultOf(overrides: unknown): number | undefined {
  if (overrides === undefined) return undefined;
  const { abort } = asObject(asObject(overrides)['envoy.filters.http.fault']);
  const { grpc_status: status, percentage } = asObject(abort);
  if (asObject(percentage)['numerator'] !== 100) throw new Error('a fault of some of the calls');
  return Number(status);
}

function clustersOf({ cluster, weighted_clusters: weighted }: Json): ReadonlyMap<Target, number> {
  if (typeof cluster === 'string') return new Map([[cluster, 1]]);
  const clusters = asList(asObject(weighted)['clusters']).map(asObject);
  const total = clusters.reduce((sum, { weight }) => sum + Number(weight), 0);
  return new Map(clusters.map(({ name, weight }) => [String(name), Number(weight) / total]));
}

function asObject(value: unknown): Json {
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`no object: ${String(value)}`);
  return Object.fromEntries(Object.entries(value));
}

function asList(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('no list');
  return value;
}
