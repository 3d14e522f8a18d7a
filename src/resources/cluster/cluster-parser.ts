import type * as TlsContext from '../tls/tls-context-parser';
import { durationToMs } from '../../util/duration';
import { lazy } from '../../util/lazy';
import { MAX_CLUSTER_FIELDS } from '../../util/limits';
import type { Violations } from '../../util/violations';
import type { CircuitBreakers } from '../../wire/generated/envoy/config/cluster/v3/circuit_breaker';
import {
  Cluster,
  type Cluster_CommonLbConfig,
} from '../../wire/generated/envoy/config/cluster/v3/cluster';
import { RoutingPriority } from '../../wire/generated/envoy/config/core/v3/base';
import type { TypedExtensionConfig } from '../../wire/generated/envoy/config/core/v3/extension';
import { Http11ProxyUpstreamTransport } from '../../wire/generated/envoy/extensions/transport_sockets/http_11_proxy/v3/upstream_http_11_connect';
import { HttpProtocolOptions } from '../../wire/generated/envoy/extensions/upstreams/http/v3/http_protocol_options';
import type { ElementLimit, ResourceType } from '../../xds-client/resource-type';
import type { HealthStatus } from '../endpoints/endpoints';
import { healthStates } from '../endpoints/endpoint-list-parser';
import { createParseContext, type ExtensionPoints, type ParseContext } from '../extension-points';
import { checkConfigSource, createResourceType } from '../resource-parser';
import { decodeMessage, unpackAny, typeNameOf } from '../shared/any';
import { metadataTypesOf, parseMetadata } from '../shared/metadata-parser';
import type { ClusterResource } from './cluster';
import { parseClusterDiscovery } from './cluster-discovery-parser';
import { parseClusterLbPolicy } from './cluster-lb-policy-parser';
import { parseOutlierDetection } from './outlier-detection-parser';

const DEFAULT_MAX_REQUESTS = 1024;
const DEFAULT_IDLE_TIMEOUT_MS = 3_600_000;
const defaultOverrideHostStatuses: ReadonlySet<HealthStatus> = new Set(['UNKNOWN', 'HEALTHY']);

const httpProtocolOptionsType = {
  typeName: 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
  decoder: HttpProtocolOptions,
};

/**
 * Fields of all clusters in use in the process, of which one with TLS has some 60. A cluster is always decoded as a
 * whole, so that they are counted as it is read.
 */
const CLUSTER_FIELDS: ElementLimit = { name: undefined, noun: 'fields', max: MAX_CLUSTER_FIELDS };

/** CDS. */
export function createClusterResourceType(
  extensions: ExtensionPoints,
): ResourceType<ClusterResource> {
  return createResourceType({
    envoyFeatures: extensions.envoyFeatures,
    typeName: 'envoy.config.cluster.v3.Cluster',
    allResourcesRequiredInSotw: true,
    discoveryService: {
      service: 'envoy.service.cluster.v3.ClusterDiscoveryService',
      noun: 'Clusters',
    },
    elementLimit: CLUSTER_FIELDS,
    countElements: (_value, fields) => fields,
    parse(bytes, { server, certificateProviders }, violations) {
      const message = decodeMessage(Cluster, bytes, violations);
      if (message === undefined) return undefined;
      const context = { ...createParseContext(extensions, server), certificateProviders };
      const value = parseCluster(message, context, violations);
      return value && { value };
    },
  });
}

function parseCluster(
  message: Cluster,
  context: ParseContext,
  violations: Violations,
): ClusterResource | undefined {
  const { extensions, server } = context;
  const { name, lrsServer, outlierDetection, metadata } = message;
  const discovery = parseClusterDiscovery(message, extensions, violations);
  const lbConfig = parseClusterLbPolicy(message, extensions, violations);
  if (lrsServer !== undefined) checkConfigSource(lrsServer, ['self'], violations.at('lrs_server'));
  const transport = parseTransportSocket(message, context, violations);
  const connectionIdleTimeoutMs = parseIdleTimeout(
    message.upstreamConfig,
    violations.at('upstream_config'),
  );
  const parsedOutlierDetection =
    outlierDetection && parseOutlierDetection(outlierDetection, violations.at('outlier_detection'));
  const types = metadataTypesOf(extensions);
  const parsedMetadata = metadata && parseMetadata(metadata, types, violations.at('metadata'));
  if (discovery === undefined || lbConfig === undefined) return undefined;
  return {
    name,
    discovery,
    lbConfig,
    lrsServer: lrsServer && server,
    lrsReportEndpointMetrics: message.lrsReportEndpointMetrics,
    maxRequests: findMaxRequests(message.circuitBreakers),
    outlierDetection: parsedOutlierDetection,
    overrideHostStatuses: parseOverrideHostStatuses(message.commonLbConfig),
    connectionIdleTimeoutMs,
    ...transport,
    metadata: parsedMetadata,
  };
}

/** The idle timeout concerns session affinity alone (gRFC A75); a wrong one is refused all the same. */
function parseIdleTimeout(
  config: TypedExtensionConfig | undefined,
  violations: Violations,
): number {
  if (config === undefined) return DEFAULT_IDLE_TIMEOUT_MS;
  const at = violations.at('typed_config');
  const options = unpackAny(config.typedConfig, httpProtocolOptionsType, at);
  const idleTimeout = options?.commonHttpProtocolOptions?.idleTimeout;
  if (idleTimeout === undefined) return DEFAULT_IDLE_TIMEOUT_MS;
  const place = at.at('common_http_protocol_options').at('idle_timeout');
  return durationToMs(idleTimeout, place) ?? DEFAULT_IDLE_TIMEOUT_MS;
}

/** The first entry for the default priority decides, and only `max_requests` of it (gRFC A32). */
function findMaxRequests(circuitBreakers: CircuitBreakers | undefined): number {
  const threshold = circuitBreakers?.thresholds.find(
    ({ priority }) => priority === RoutingPriority.DEFAULT,
  );
  return threshold?.maxRequests ?? DEFAULT_MAX_REQUESTS;
}

/** Gives the states a session may stick to (gRFC A55). */
function parseOverrideHostStatuses(
  config: Cluster_CommonLbConfig | undefined,
): ReadonlySet<HealthStatus> {
  const statuses = config?.overrideHostStatus?.statuses;
  if (statuses === undefined) return defaultOverrideHostStatuses;
  return new Set(
    statuses.map((status) => healthStates.get(status)).filter((status) => status !== undefined),
  );
}

/** Loaded for the first cluster with TLS, with the messages that describe it. */
const loadTlsParser = lazy<typeof TlsContext>(() => require('../tls/tls-context-parser'));

const httpProxyType = {
  typeName: 'envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport',
  decoder: Http11ProxyUpstreamTransport,
};

type Transport = Pick<ClusterResource, 'tls' | 'httpConnect'>;

/**
 * Parses how connections to a cluster are made: by TLS (gRFC A29), through HTTP proxies (gRFC A86), or both. It is
 * validated whether or not the credentials of the channel leave TLS to the control plane.
 */
function parseTransportSocket(
  { transportSocket, transportSocketMatches }: Cluster,
  { extensions, regexes, certificateProviders = new Set() }: ParseContext,
  violations: Violations,
): Transport {
  if (transportSocketMatches.length > 0) {
    violations.at('transport_socket_matches').add('unsupported: use transport_socket');
  }
  if (transportSocket === undefined) return { tls: undefined };
  const { systemRootCerts: readSystemRoots = false, sni: readSni = false } = extensions;
  const context = { regexes, certificateProviders, readSystemRoots, readSni };
  const at = violations.at('transport_socket');
  const any = transportSocket.configType?.value;
  const isProxied = any !== undefined && typeNameOf(any.typeUrl) === httpProxyType.typeName;
  if (extensions.httpConnect !== true || !isProxied) {
    return { tls: loadTlsParser().parseUpstreamTls(transportSocket, context, at) };
  }
  const inner = unpackAny(any, httpProxyType, at.at('typed_config'))?.transportSocket;
  const innerAt = at.at('typed_config').at('transport_socket');
  const tls = inner && loadTlsParser().parseUpstreamTls(inner, context, innerAt);
  return { tls, httpConnect: true };
}
