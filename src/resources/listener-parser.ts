import { Listener } from '../generated/envoy/config/listener/v3/listener';
import { HttpConnectionManager } from '../generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import type { Violations } from '../util/violations';
import type { ResourceType } from '../xds-client/resource-type';
import type { ExtensionPoints } from './extension-points';
import { parseHttpConnectionManager } from './http-connection-manager-parser';
import type { ListenerResource } from './listener';
import { createParseContext, type ParseContext } from './parse-context';
import { unpackAny } from './shared/any';
import { createResourceType } from './shared/resource-decoder';

const httpConnectionManagerType = {
  typeName: 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
  decoder: HttpConnectionManager,
};

/** LDS. */
export function createListenerResourceType(
  extensions: ExtensionPoints,
): ResourceType<ListenerResource> {
  return createResourceType({
    typeName: 'envoy.config.listener.v3.Listener',
    decoder: Listener,
    allResourcesRequiredInSotw: true,
    discoveryService: {
      service: 'envoy.service.listener.v3.ListenerDiscoveryService',
      noun: 'Listeners',
    },
    parse(message, { server }, violations) {
      const value = parseListener(message, createParseContext(extensions, server), violations);
      return value && { value };
    },
  });
}

/** What has both an API listener and an address, as Istio sends it, is for clients (gRFC A27). */
function parseListener(
  { name, address, apiListener }: Listener,
  context: ParseContext,
  violations: Violations,
): ListenerResource | undefined {
  if (apiListener === undefined) {
    if (address !== undefined) return { kind: 'socket-listener', name };
    violations.add('must have api_listener, as a listener for clients, or address');
    return undefined;
  }
  const at = violations.at('api_listener').at('api_listener');
  const message = unpackAny(apiListener.apiListener, httpConnectionManagerType, at);
  const httpConnectionManager = message && parseHttpConnectionManager(message, context, at);
  return httpConnectionManager && { kind: 'api-listener', name, httpConnectionManager };
}
