import { Listener } from '../../wire/generated/envoy/config/listener/v3/listener';
import type { Steps } from '../../util/steps';
import type { Violations } from '../../util/violations';
import type { ResourceType } from '../../xds-client/resource-type';
import { createParseContext, type ExtensionPoints, type ParseContext } from '../extension-points';
import { createResourceType, ROUTES_LIMIT } from '../resource-parser';
import { checkAny, decodeMessage } from '../shared/any';
import {
  httpConnectionManagerType,
  parseHttpConnectionManager,
} from './http-connection-manager-parser';
import type { ListenerResource } from './listener';

/** What listeners for clients and those for servers have in common. */
export const listenerType = {
  typeName: 'envoy.config.listener.v3.Listener',
  allResourcesRequiredInSotw: true,
  discoveryService: {
    service: 'envoy.service.listener.v3.ListenerDiscoveryService',
    noun: 'Listeners',
  },
  limit: ROUTES_LIMIT,
};

/** LDS, for clients. Filter chains are for servers: a client passes over them, whatever is in them. */
export function createListenerResourceType(
  extensions: ExtensionPoints,
): ResourceType<ListenerResource> {
  const decoder = Listener.decoderWithout(
    'filterChains',
    'useOriginalDst',
    'defaultFilterChain',
    'listenerFilters',
  );
  return createResourceType({
    ...listenerType,
    *parse(bytes, { server }, violations) {
      const message = decodeMessage(decoder, bytes, violations);
      if (message === undefined) return undefined;
      const context = createParseContext(extensions, server);
      const value = yield* parseListener(message, context, violations);
      return value && { value };
    },
  });
}

/** Parses a listener. One with both an API listener and an address, as Istio sends it, is for clients (gRFC A27). */
function* parseListener(
  { name, address, apiListener }: Listener,
  context: ParseContext,
  violations: Violations,
): Steps<ListenerResource | undefined> {
  if (apiListener === undefined) {
    if (address !== undefined) return { kind: 'socket-listener', name };
    return violations.add('must have api_listener, as a listener for clients, or address');
  }
  const at = violations.at('api_listener').at('api_listener');
  const bytes = checkAny(apiListener.apiListener, httpConnectionManagerType, at);
  const httpConnectionManager = bytes && (yield* parseHttpConnectionManager(bytes, context, at));
  return httpConnectionManager && { kind: 'api-listener', name, httpConnectionManager };
}
