import type { XdsConfig } from '../dependency-manager/xds-config';
import type { Metadata } from '../grpc-js';
import type {
  ClusterSpecifier,
  HeaderMatcher,
  RetryPolicy,
  Route,
} from '../resources/route-config';
import type { FilterPreparer } from './filter-chain';
import { effectiveRetryPolicy, effectiveTimeoutMs } from './method-config';
import { compileRouteFilters } from './route-filters';
import { hashContributions, type HashLimits } from './request-hash';
import { headerValue, matchesHeader, matchesPath } from './route-matcher';

/** A route that was looked at, in the order of the virtual host. */
export interface RouteTrial {
  readonly index: number;
  /** May be empty. */
  readonly name: string;
  /** Why the route does not apply; `undefined` if it does. */
  readonly mismatch: string | undefined;
  /** Of the calls that come this far, the share the route takes: less than 1 for a `runtime_fraction`. */
  readonly share: number;
}

/** A cluster that may be drawn. */
export interface ClusterExplanation {
  readonly name: string;
  readonly weight: number;
  /** Of the calls of the route, the share that goes there. */
  readonly share: number;
  /** The filters that see these calls, in order, with the config in force. */
  readonly filters: readonly { readonly name: string; readonly config: unknown }[];
}

/** What becomes of a call that a route takes. */
export type RouteOutcome =
  | {
      readonly kind: 'forward';
      readonly clusters: readonly ClusterExplanation[];
      /** Milliseconds, besides the application's own deadline; `undefined` for no limit. */
      readonly timeoutMs: number | undefined;
      readonly retry: RetryPolicy | undefined;
      /** What the request hash is made from; empty: it is random. */
      readonly hashInputs: readonly {
        readonly policy: string;
        readonly text: string | undefined;
      }[];
    }
  | { readonly kind: 'fail'; readonly reason: string };

/** A route that takes the call, or some share of such calls, and what it does with them. */
export interface RouteDecision {
  readonly index: number;
  readonly name: string;
  /** Of all calls like this one. */
  readonly share: number;
  readonly outcome: RouteOutcome;
}

/** The whole path of a decision about one call. */
export interface CallExplanation {
  readonly virtualHost: string;
  readonly routes: readonly RouteTrial[];
  /** More than one only if routes take shares of the calls. */
  readonly decisions: readonly RouteDecision[];
  /** The share of such calls that no route takes: they fail with UNAVAILABLE. */
  readonly unmatchedShare: number;
}

/** What is to be explained. */
export interface ExplainInput {
  readonly config: XdsConfig;
  /** Full path, such as `/package.Service/Method`. */
  readonly method: string;
  readonly headers: Metadata;
  readonly filters: FilterPreparer;
  readonly limits: HashLimits;
  /** For hash policies that go by it. Default 0. */
  readonly channelId?: number;
}

/**
 * Says what would become of a call and why: which routes do not match and for what reason, which one takes it,
 * and with what clusters, filters, timeout, retries and hash. Pure, and made of the very matchers that calls go
 * through, so it cannot disagree with them.
 */
export function explainCall(input: ExplainInput): CallExplanation {
  const { virtualHost } = input.config;
  const routes: RouteTrial[] = [];
  const decisions: RouteDecision[] = [];
  let remaining = 1;
  for (const [index, route] of virtualHost.routes.entries()) {
    if (remaining === 0) break;
    const trial = tryRoute(index, route, input);
    routes.push(trial);
    if (trial.mismatch !== undefined || trial.share === 0) continue;
    const share = remaining * trial.share;
    decisions.push({ index, name: route.name, share, outcome: explainOutcome(route, input) });
    remaining -= share;
  }
  return { virtualHost: virtualHost.name, routes, decisions, unmatchedShare: remaining };
}

function tryRoute(index: number, route: Route, { method, headers }: ExplainInput): RouteTrial {
  const { path, headers: matchers, fractionPerMillion } = route.match;
  const share = (fractionPerMillion ?? 1_000_000) / 1_000_000;
  const describePath = path.kind === 'regex' ? path.regex.pattern : path.text;
  const failing = matchers.find((matcher) => !matchesHeader(matcher, headers));
  let mismatch: string | undefined;
  if (!matchesPath(path, method)) mismatch = `path is not ${path.kind} ${describePath}`;
  else if (failing !== undefined) mismatch = describeHeaderMismatch(failing, headers);
  return { index, name: route.name, mismatch, share };
}

function describeHeaderMismatch(matcher: HeaderMatcher, headers: Metadata): string {
  const value = headerValue(matcher.name, headers);
  const absent = matcher.missingAsEmpty ? 'absent, which counts as empty' : 'absent';
  const found = value === undefined ? absent : JSON.stringify(value);
  const inverted = matcher.invert ? ', inverted' : '';
  return `header ${matcher.name} is ${found}, which does not satisfy ${describeCondition(matcher)}${inverted}`;
}

function describeCondition({ condition }: HeaderMatcher): string {
  switch (condition.kind) {
    case 'present':
      return condition.present ? 'present' : 'absent';
    case 'range':
      return `range [${condition.start}, ${condition.end})`;
    case 'string': {
      const { matcher } = condition;
      if (matcher.kind === 'regex') return `regex ${matcher.regex.pattern}`;
      const insensitive = matcher.ignoreCase ? ', ignoring case' : '';
      return `${matcher.kind} ${JSON.stringify(matcher.text)}${insensitive}`;
    }
  }
}

function explainOutcome(route: Route, input: ExplainInput): RouteOutcome {
  const { action } = route;
  if (action.kind === 'unsupported') {
    return {
      kind: 'fail',
      reason: `action ${action.action} cannot be carried out by a gRPC client`,
    };
  }
  const { virtualHost, listener } = input.config;
  const { headers: metadata, channelId = 0, limits } = input;
  const contributions = hashContributions(
    { policies: action.hashPolicies, metadata, channelId },
    limits,
  );
  return {
    kind: 'forward',
    clusters: explainClusters(route, action.clusters, input),
    timeoutMs: effectiveTimeoutMs(route, listener.httpConnectionManager.maxStreamDurationMs),
    retry: effectiveRetryPolicy(route, virtualHost),
    hashInputs: contributions.map(({ policy, text }) => ({
      policy: policy.kind === 'header' ? `header ${policy.headerName}` : 'channel id',
      text,
    })),
  };
}

function explainClusters(
  route: Route,
  clusters: ClusterSpecifier,
  { config, filters }: ExplainInput,
): readonly ClusterExplanation[] {
  const choices =
    clusters.kind === 'cluster' ? [{ name: clusters.name, weight: 1 }] : clusters.clusters;
  const total = choices.reduce((sum, { weight }) => sum + weight, 0);
  const prepared = compileRouteFilters(config, route, filters);
  return choices.map(({ name, weight }, i) => ({
    name,
    weight,
    share: weight / total,
    filters: (prepared[i] ?? []).map((filter) => ({
      name: filter.name,
      config: filter.factory.describe(),
    })),
  }));
}
