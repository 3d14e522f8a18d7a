import type {
  Route as RouteMessage,
  RouteAction as RouteActionMessage,
  RouteAction_MaxStreamDuration,
  WeightedCluster as WeightedClusterMessage,
  WeightedCluster_ClusterWeight,
} from '../../wire/generated/envoy/config/route/v3/route_components';
import { lazy } from '../../util/lazy';
import { quoteText } from '../../util/text';
import { assertNever } from '../../util/errors';
import { durationToMs } from '../../util/duration';
import type { Violations } from '../../util/violations';
import { isTrusted, type LbConfig, type ParseContext } from '../extension-points';
import { parseFilterOverrides } from '../listener/http-filters-parser';
import { MAX_TOTAL_WEIGHT } from '../matching/fraction-parser';
import { parseHashPolicies } from './hash-policy-parser';
import { parseMirrorPolicies } from './mirror-parser';
import { parseRetryPolicy } from './retry-policy-parser';
import type * as HeaderMutationParser from '../shared/header-mutation-parser';
import {
  pluginChildName,
  type ClusterSpecifier,
  type HostRewrite,
  type Route,
  type RouteAction,
  type WeightedCluster,
} from './route-config';
import { impossibleField, parseRouteMatch } from './route-match-parser';

/** Loaded for the first routes that may change headers. */
export const loadHeaderMutations = lazy<typeof HeaderMutationParser>(() =>
  require('../shared/header-mutation-parser'),
);

/** The cluster specifier plugins by the names of their children; `undefined` for an optional one that is not supported. */
export type DeclaredPlugins = ReadonlyMap<string, LbConfig | undefined>;

/**
 * Parses a route; `undefined` for one that no call can use, which is valid, and after adding a violation.
 * @param index See {@link Route}.
 */
export function parseRoute(
  { index, message }: { readonly index: number; readonly message: RouteMessage },
  plugins: DeclaredPlugins,
  context: ParseContext,
  violations: Violations,
): Route | undefined {
  const { extensions } = context;
  const matchAt = violations.at('match');
  if (message.match === undefined) matchAt.add('field not present');
  else if (impossibleField(message.match) !== undefined) return undefined;
  const match = message.match && parseRouteMatch(message.match, context.regexes, matchAt);
  const action = parseAction(message.action, plugins, context, violations);
  if (action === 'unusable') return undefined;
  const filterOverrides = parseFilterOverrides(
    message.typedPerFilterConfig,
    context,
    violations.at('typed_per_filter_config'),
  );
  const headerMutations =
    extensions.envoyFeatures === true
      ? loadHeaderMutations().parseRouteHeaders(message, violations)
      : undefined;
  const { name } = message;
  return match && action && { index, name, match, action, filterOverrides, headerMutations };
}

/** Parses the action of a route. Others than `route` are valid; calls of clients fail (gRFC A36). */
function parseAction(
  action: RouteMessage['action'],
  plugins: DeclaredPlugins,
  context: ParseContext,
  violations: Violations,
): RouteAction | 'unusable' | undefined {
  switch (action?.$case) {
    case 'route':
      return parseRouteAction(action.value, plugins, context, violations.at('route'));
    case 'redirect':
      return { kind: 'unsupported', action: 'redirect' };
    case 'directResponse':
      return { kind: 'unsupported', action: 'direct_response' };
    case 'filterAction':
      return { kind: 'unsupported', action: 'filter_action' };
    case 'nonForwardingAction':
      return { kind: 'non-forwarding' };
    case undefined:
      return { kind: 'unsupported', action: 'unset' };
    default:
      return assertNever(action);
  }
}

/** Parses a `route` action; `'unusable'` for one that is left out, `undefined` after adding a violation. */
function parseRouteAction(
  message: RouteActionMessage,
  plugins: DeclaredPlugins,
  context: ParseContext,
  violations: Violations,
): RouteAction | 'unusable' | undefined {
  const { regexes } = context;
  const clusters = parseClusterSpecifier(message, plugins, context, violations);
  if (clusters === 'unusable') return clusters;
  const { maxStreamDuration, retryPolicy, hashPolicy, requestMirrorPolicies } = message;
  const maxStreamDurationMs =
    maxStreamDuration &&
    parseMaxStreamDuration(maxStreamDuration, violations.at('max_stream_duration'));
  const parsedRetryPolicy =
    retryPolicy && parseRetryPolicy(retryPolicy, context, violations.at('retry_policy'));
  const hashPolicies =
    hashPolicy.length === 0
      ? []
      : parseHashPolicies(hashPolicy, regexes, violations.at('hash_policy'));
  const mirrors =
    requestMirrorPolicies.length === 0
      ? undefined
      : parseMirrorPolicies(
          requestMirrorPolicies,
          context.extensions,
          violations.at('request_mirror_policies'),
        );
  return (
    clusters && {
      kind: 'forward',
      clusters,
      maxStreamDurationMs,
      retryPolicy: parsedRetryPolicy,
      hashPolicies,
      hostRewrite: parseHostRewrite(message, context),
      mirrors,
    }
  );
}

/** A specifier this client does not know, or one added to the protocol later, makes the route unusable (gRFC A28). */
function parseClusterSpecifier(
  { clusterSpecifier }: RouteActionMessage,
  plugins: DeclaredPlugins,
  context: ParseContext,
  violations: Violations,
): ClusterSpecifier | 'unusable' | undefined {
  switch (clusterSpecifier?.$case) {
    case 'cluster':
      if (clusterSpecifier.value !== '') return { kind: 'cluster', name: clusterSpecifier.value };
      return violations.at('cluster').add('must not be empty');
    case 'weightedClusters':
      return parseWeightedClusters(
        clusterSpecifier.value,
        context,
        violations.at('weighted_clusters'),
      );
    case 'clusterSpecifierPlugin': {
      const plugin = clusterSpecifier.value;
      const name = pluginChildName(plugin);
      if (plugins.get(name) !== undefined) return { kind: 'plugin', name };
      if (plugins.has(name)) return 'unusable';
      const reason = `no entry of cluster_specifier_plugins is named ${quoteText(plugin)}`;
      return violations.at('cluster_specifier_plugin').add(reason);
    }
    default:
      return 'unusable';
  }
}

function parseMaxStreamDuration(
  { grpcTimeoutHeaderMax, maxStreamDuration }: RouteAction_MaxStreamDuration,
  violations: Violations,
): number | undefined {
  if (grpcTimeoutHeaderMax !== undefined) {
    return durationToMs(grpcTimeoutHeaderMax, violations.at('grpc_timeout_header_max'));
  }
  return maxStreamDuration && durationToMs(maxStreamDuration, violations.at('max_stream_duration'));
}

/** Only a trusted server may change the authority (gRFCs A81, A111). */
function parseHostRewrite(
  { hostRewriteSpecifier: specifier }: RouteActionMessage,
  { server, extensions }: ParseContext,
): HostRewrite | undefined {
  if (specifier === undefined || !isTrusted(server)) return undefined;
  const { authorityRewrite = false, literalAuthorityRewrite = false } = extensions;
  switch (specifier.$case) {
    case 'autoHostRewrite':
      if (!authorityRewrite || specifier.value !== true) return undefined;
      return { kind: 'endpoint-hostname' };
    case 'hostRewriteLiteral':
      if (!literalAuthorityRewrite || specifier.value === '') return undefined;
      return { kind: 'literal', authority: specifier.value };
    default:
      return assertNever(specifier);
  }
}

/**
 * Parses weighted clusters; `undefined` after adding a violation (gRFC A28). Of clusters without weight, which are
 * validated as well, the names are kept; the deprecated `total_weight` is ignored.
 */
function parseWeightedClusters(
  { clusters }: WeightedClusterMessage,
  context: ParseContext,
  violations: Violations,
): ClusterSpecifier | undefined {
  const at = violations.at('clusters');
  const all = clusters.map((cluster, i) => parseCluster(cluster, context, at.index(i)));
  const weighted = all.filter(({ weight }) => weight > 0);
  const totalWeight = weighted.reduce((sum, { weight }) => sum + weight, 0);
  if (totalWeight > 0 && totalWeight <= MAX_TOTAL_WEIGHT) {
    const drawn = new Set(weighted.map(({ name }) => name));
    const others = new Set(all.map(({ name }) => name).filter((name) => !drawn.has(name)));
    return { kind: 'weighted', clusters: weighted, totalWeight, zeroWeight: [...others] };
  }
  return at.add(
    totalWeight === 0
      ? 'must have a cluster with a weight greater than 0'
      : `the sum of the weights must not exceed ${MAX_TOTAL_WEIGHT}, but is ${totalWeight}`,
  );
}

function parseCluster(
  cluster: WeightedCluster_ClusterWeight,
  context: ParseContext,
  violations: Violations,
): WeightedCluster {
  const { name, weight = 0, typedPerFilterConfig } = cluster;
  if (name === '') violations.at('name').add('must not be empty');
  const filterOverrides = parseFilterOverrides(
    typedPerFilterConfig,
    context,
    violations.at('typed_per_filter_config'),
  );
  const headerMutations =
    context.extensions.envoyFeatures === true
      ? loadHeaderMutations().parseRouteHeaders(cluster, violations)
      : undefined;
  return { name, weight, filterOverrides, headerMutations };
}
