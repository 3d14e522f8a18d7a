import type {
  RouteAction as RouteActionMessage,
  RouteAction_MaxStreamDuration,
} from '../generated/envoy/config/route/v3/route_components';
import { durationToMs } from '../util/duration';
import type { Violations } from '../util/violations';
import { parseHashPolicy } from './hash-policy-parser';
import { isTrusted, type ParseContext } from './parse-context';
import { parseRetryPolicy } from './retry-policy-parser';
import type { ClusterSpecifier, RouteAction } from './route-config';
import { parseWeightedClusters } from './weighted-clusters-parser';

/** `'unusable'` if the route is to be left out, `undefined` after adding a violation. */
export function parseRouteAction(
  message: RouteActionMessage,
  plugins: ReadonlySet<string>,
  context: ParseContext,
  violations: Violations,
): RouteAction | 'unusable' | undefined {
  const { regexes } = context;
  const clusters = parseClusterSpecifier(message, plugins, context, violations);
  if (clusters === 'unusable') return clusters;
  const { maxStreamDuration, retryPolicy, hashPolicy } = message;
  const maxStreamDurationMs =
    maxStreamDuration &&
    parseMaxStreamDuration(maxStreamDuration, violations.at('max_stream_duration'));
  const parsedRetryPolicy =
    retryPolicy && parseRetryPolicy(retryPolicy, context, violations.at('retry_policy'));
  const hashPolicies = hashPolicy
    .map((policy, i) => parseHashPolicy(policy, regexes, violations.at('hash_policy').index(i)))
    .filter((policy) => policy !== undefined);
  return (
    clusters && {
      kind: 'forward',
      clusters,
      maxStreamDurationMs,
      retryPolicy: parsedRetryPolicy,
      hashPolicies,
      ...parseHostRewrite(message, context),
    }
  );
}

/** A specifier this client does not know, or one added to the protocol later, makes the route unusable (gRFC A28). */
function parseClusterSpecifier(
  { clusterSpecifier }: RouteActionMessage,
  plugins: ReadonlySet<string>,
  { extensions }: ParseContext,
  violations: Violations,
): ClusterSpecifier | 'unusable' | undefined {
  switch (clusterSpecifier?.$case) {
    case 'cluster':
      if (clusterSpecifier.value !== '') return { kind: 'cluster', name: clusterSpecifier.value };
      violations.at('cluster').add('must not be empty');
      return undefined;
    case 'weightedClusters':
      return parseWeightedClusters(
        clusterSpecifier.value,
        extensions.httpFilters,
        violations.at('weighted_clusters'),
      );
    case 'clusterSpecifierPlugin': {
      const name = clusterSpecifier.value;
      if (plugins.has(name)) return 'unusable';
      const reason = `no entry of cluster_specifier_plugins is named ${JSON.stringify(name)}`;
      violations.at('cluster_specifier_plugin').add(reason);
      return undefined;
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
  { server }: ParseContext,
): { readonly autoHostRewrite: boolean; readonly hostRewriteLiteral: string } {
  const allowed = isTrusted(server) ? specifier : undefined;
  return {
    autoHostRewrite: allowed?.$case === 'autoHostRewrite' && allowed.value === true,
    hostRewriteLiteral: allowed?.$case === 'hostRewriteLiteral' ? allowed.value : '',
  };
}
