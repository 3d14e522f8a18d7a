import { describeHeldBack } from '../dependency-manager/held-back';
import type { XdsConfig } from '../dependency-manager/xds-config';
import type { Metadata } from '../grpc-js';
import type { RetryPolicy, Route } from '../resources/route-config/route-config';
import { redactConfig } from '../util/redact-config';
import { isHiddenHeader } from '../util/secrets';
import { REDACTED } from '../util/text';
import type { ResourceTypes } from '../resources/resource-types';
import type { LiveResolution } from './resolver-dependencies';
import type { ClusterChoice, CompiledRoute } from './compiled-route';
import { hashContributions, type HashLimits } from './request-hash';
import { MatchedCall, type CallHeaders } from '../routing/matched-call';
import { actionName } from '../routing/action-name';
import { describeMismatch } from '../routing/describe-mismatch';
import { firstMismatch, matchShare } from '../routing/route-matcher';
import type { RouteTable } from './route-table';

/** A route that was tried, in the order of the virtual host. */
export interface RouteTrial {
  readonly index: number;
  /** May be empty. */
  readonly name: string;
  /** Why the route does not match; `undefined` if it does. */
  readonly mismatch: string | undefined;
  /** The share of calls that reach this route and that it takes: less than 1 for a `runtime_fraction`. */
  readonly share: number;
}

/** A cluster that a call may go to, or could if it had a weight. */
export interface ClusterExplanation {
  readonly name: string;
  readonly weight: number;
  /** The share of the route's calls. */
  readonly share: number;
  /** The filters of these calls, in order, with the config in force; none if there are no such calls. */
  readonly filters: readonly { readonly name: string; readonly config: unknown }[];
}

/** The result for a call that matches a route. */
export type RouteOutcome =
  | {
      readonly kind: 'forward';
      readonly clusters: readonly ClusterExplanation[];
      /** Milliseconds, besides the application's own deadline; `undefined` for no limit. */
      readonly timeoutMs: number | undefined;
      readonly retry: RetryPolicy | undefined;
      /** The inputs of the request hash; empty if it is random. */
      readonly hashInputs: readonly {
        readonly policy: string;
        readonly text: string | undefined;
      }[];
    }
  | { readonly kind: 'fail'; readonly reason: string };

/** A route that takes the call, or a share of such calls, and what happens to them. */
export interface RouteDecision {
  readonly index: number;
  readonly name: string;
  /** The share of all calls like this one. */
  readonly share: number;
  readonly outcome: RouteOutcome;
}

/** The fields of a resource that this client does not use. */
export interface UnusedFields {
  /** Such as `Cluster "shop"`. */
  readonly resource: string;
  /** Such as `virtual_hosts[0].routes[2].route.request_mirror_policies`. */
  readonly fields: readonly string[];
}

/** Explains where a call would go, or why it has no route. `toString()` describes it for people. */
export type CallExplanation = RoutedCall | UnroutedCall;

/** A call without a config to route it by. */
export interface UnroutedCall {
  readonly kind: 'unrouted';
  /** Why, with the next step. */
  readonly reason: string;
  /** One line for each resource that the channel waits for; empty if it does not wait. */
  readonly waitingFor: readonly string[];
  /** Returns a text for people. */
  toString(): string;
}

/** The routing decisions of one call. */
export interface RoutedCall {
  readonly kind: 'routed';
  readonly virtualHost: string;
  readonly routes: readonly RouteTrial[];
  /** More than one only if routes take shares of the calls. */
  readonly decisions: readonly RouteDecision[];
  /** The share of such calls without a route, which fail with UNAVAILABLE. */
  readonly unmatchedShare: number;
  /** The fields without effect on calls in the resources behind these decisions; only resources with such fields. */
  readonly unusedFields: readonly UnusedFields[];
  /** One line for each resource that was accepted and is not in use yet, and one for each that it waits for. */
  readonly heldBack: readonly string[];
  /** Returns a text for people. */
  toString(): string;
}

/** A resource that an explanation is based on. */
export interface ExplainedResource {
  readonly type: keyof Pick<ResourceTypes, 'listener' | 'routeConfig' | 'cluster' | 'endpoints'>;
  readonly name: string;
}

/** Describes the fields of a resource that this client does not use; `undefined` for one that has none. */
export type FindUnused = (resource: ExplainedResource) => UnusedFields | undefined;

/** The call to be explained. */
interface ExplainInput {
  readonly config: XdsConfig;
  /** Its routes, as compiled for calls. */
  readonly table: RouteTable;
  /** The full path, such as `/package.Service/Method`. */
  readonly method: string;
  readonly headers: Metadata;
  readonly limits: HashLimits;
  /** For hash policies with `filter_state`. Default 0. */
  readonly channelId?: number;
  readonly findUnused: FindUnused;
  /** See `RoutedCall`. Default: none. */
  readonly heldBack?: readonly string[];
}

/**
 * Explains the routing of a call: which routes do not match and why, which one takes it, and its clusters, filters,
 * timeout, retries and hash. Uses the compiled routes and the matchers of calls.
 */
export function explainCall(input: ExplainInput): RoutedCall {
  const { table } = input;
  const call = MatchedCall.of(input.method, input.headers, () => 0);
  const routes: RouteTrial[] = [];
  const decisions: RouteDecision[] = [];
  let remaining = 1;
  for (const route of table.virtualHost.routes) {
    if (remaining === 0) break;
    const trial = tryRoute(route, call);
    routes.push(trial);
    if (trial.mismatch !== undefined || trial.share === 0) continue;
    const share = remaining * trial.share;
    const outcome = explainOutcome(table.compile(route), input, call);
    decisions.push({ index: route.index, name: route.name, share, outcome });
    remaining -= share;
  }
  const resources = explainedResources(input.config, decisions);
  return {
    kind: 'routed',
    virtualHost: table.virtualHost.name,
    routes,
    decisions,
    unmatchedShare: remaining,
    unusedFields: resources.flatMap((resource) => input.findUnused(resource) ?? []),
    heldBack: input.heldBack ?? [],
  };
}

/** The number of pending resources that are named. */
const MAX_WAITS = 10;

/** Returns one line for each resource of a channel that is held back, and for each that is pending. */
export function describeWaits(
  resolution: Pick<LiveResolution, 'heldBack' | 'waitingFor'>,
): readonly string[] {
  const held = resolution.heldBack(MAX_WAITS).map(describeHeldBack);
  return [...held, ...resolution.waitingFor(MAX_WAITS)];
}

/**
 * Explains why calls are not routed.
 *
 * @param resolution That of a channel for the target; `undefined` if there is none.
 * @param targets The targets of the channels in this process.
 */
export function explainUnrouted(
  target: string,
  resolution: Pick<LiveResolution, 'failure' | 'waitingFor'> | undefined,
  targets: readonly string[],
): UnroutedCall {
  if (resolution === undefined) {
    const others =
      targets.length === 0 ? 'there are none' : `those in use are ${targets.join(', ')}`;
    const reason = `no channel for ${target} is in use in this process (${others}); a channel resolves its target when it is first used`;
    return { kind: 'unrouted', reason, waitingFor: [] };
  }
  const waitingFor = resolution.waitingFor(MAX_WAITS);
  const reason = resolution.failure ?? 'the channel waits for its configuration';
  return { kind: 'unrouted', reason, waitingFor };
}

function explainedResources(
  { clusters, listener, routeConfig }: XdsConfig,
  decisions: readonly RouteDecision[],
): readonly ExplainedResource[] {
  const names = decisions.flatMap(({ outcome }) =>
    outcome.kind === 'forward'
      ? outcome.clusters.flatMap(({ name, share }) => (share > 0 ? [name] : []))
      : [],
  );
  const ofClusters = [...new Set(names)].flatMap((name): readonly ExplainedResource[] => {
    const found = clusters.get(name);
    const discovery = found?.ok === true ? found.value.resource.discovery : undefined;
    const isEds = discovery?.kind === 'eds';
    return [
      { type: 'cluster', name },
      ...(isEds ? [{ type: 'endpoints' as const, name: discovery.serviceName }] : []),
    ];
  });
  return [
    { type: 'listener', name: listener.name },
    { type: 'routeConfig', name: routeConfig.name },
    ...ofClusters,
  ];
}

function tryRoute({ index, name, match }: Route, call: MatchedCall): RouteTrial {
  const failing = firstMismatch(match, call);
  const mismatch = failing && describeMismatch(failing, (header) => call.get(header)?.text);
  return { index, name, mismatch, share: matchShare(match) };
}

function explainOutcome(
  { route, choice, hashPolicies, timeoutMs, retryPolicy }: CompiledRoute,
  { channelId = 0, limits }: ExplainInput,
  headers: CallHeaders,
): RouteOutcome {
  if (choice === undefined) {
    const { action } = route;
    const reason =
      action.kind !== 'forward'
        ? `action ${actionName(action)} cannot be carried out by a gRPC client`
        : 'the route cannot be used';
    return { kind: 'fail', reason };
  }
  const input = { policies: hashPolicies, headers, channelId };
  return {
    kind: 'forward',
    clusters: [...explainClusters(choice), ...explainZeroWeight(route)],
    timeoutMs,
    retry: retryPolicy,
    hashInputs: hashContributions(input, limits).map(({ policy, text }) => {
      if (policy.kind !== 'header') return { policy: 'channel id', text };
      const isHidden = text !== undefined && isHiddenHeader(policy.headerName);
      return { policy: `header ${policy.headerName}`, text: isHidden ? REDACTED : text };
    }),
  };
}

function explainZeroWeight({ action }: Route): readonly ClusterExplanation[] {
  if (action.kind !== 'forward' || action.clusters.kind !== 'weighted') return [];
  return action.clusters.zeroWeight.map((name) => ({ name, weight: 0, share: 0, filters: [] }));
}

function explainClusters({ clusters }: ClusterChoice): readonly ClusterExplanation[] {
  const total = clusters.reduce((sum, { weight }) => sum + weight, 0);
  return clusters.map(({ ref, weight, filters }) => ({
    name: ref.cluster,
    weight,
    share: weight / total,
    filters: filters.map(({ name, factory }) => ({
      name,
      config: redactConfig(factory.describe()),
    })),
  }));
}
