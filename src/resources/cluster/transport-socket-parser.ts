import type { Cluster } from '../../wire/generated/envoy/config/cluster/v3/cluster';
import { Http11ProxyUpstreamTransport } from '../../wire/generated/envoy/extensions/transport_sockets/http_11_proxy/v3/upstream_http_11_connect';
import type { Violations } from '../../util/violations';
import type { ParseContext } from '../extension-points';
import { typeNameOf, unpackAny } from '../shared/any';
import type { ClusterResource } from './cluster';
import type * as UpstreamTlsContext from '../tls/upstream-tls-context-parser';
import { late } from '../../util/late';

/** Loaded for the first cluster with TLS, with the messages that describe it. */
const loadTlsParser = late<typeof UpstreamTlsContext>(() =>
  require('../tls/upstream-tls-context-parser'),
);

const httpProxyType = {
  typeName: 'envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport',
  decoder: Http11ProxyUpstreamTransport,
};

type Transport = Pick<ClusterResource, 'tls' | 'httpConnect'>;

/**
 * Parses how connections to a cluster are made: by TLS (gRFC A29), through HTTP proxies (gRFC A86), or both. It is
 * validated whether or not the credentials of the channel leave TLS to the control plane.
 */
export function parseTransportSocket(
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
