import { Listener } from '../../wire/generated/envoy/config/listener/v3/listener';
import { lazy } from '../../util/lazy';
import { ROUTES_LIMIT } from '../../util/limits';
import type { Violations } from '../../util/violations';
import type { ResourceType } from '../../xds-client/resource-type';
import { createParseContext, type ExtensionPoints, type ParseContext } from '../extension-points';
import { createResourceType } from '../resource-parser';
import { mapReader, readerOf, type PartReader } from '../encoded/part-reader';
import { checkAny, decodeMessage } from '../shared/any';
import {
  httpConnectionManagerType,
  readHttpConnectionManager,
} from './http-connection-manager-parser';
import type { ApiListener, ListenerResource } from './listener';
import type * as SocketListeners from './socket-listener-parser';

/** Loaded for the first listener of a server: few processes receive one. */
const loadSocketListeners = lazy<typeof SocketListeners>(() => require('./socket-listener-parser'));

/**
 * LDS, for clients and servers, which share a stream and its one type of listeners. A listener with an API listener is for
 * clients, even if it has an address as well, as Istio sends it (gRFC A27); another one is for servers (gRFC A36).
 */
export function createListenerResourceType(
  extensions: ExtensionPoints,
): ResourceType<ListenerResource> {
  // The filter chains of a listener for clients are passed over, whatever is in them.
  const decoder = Listener.decoderWithout(
    'filterChains',
    'useOriginalDst',
    'defaultFilterChain',
    'listenerFilters',
  );
  return createResourceType({
    envoyFeatures: extensions.envoyFeatures,
    typeName: 'envoy.config.listener.v3.Listener',
    allResourcesRequiredInSotw: true,
    discoveryService: {
      service: 'envoy.service.listener.v3.ListenerDiscoveryService',
      noun: 'Listeners',
    },
    limit: ROUTES_LIMIT,
    clusterSpecifiers: extensions.clusterSpecifiers,
    describeSkipped: (listener) =>
      listener.kind === 'api' ? undefined : loadSocketListeners().describeUnmatchable(listener),
    parse(bytes, { server, certificateProviders }, violations) {
      const message = decodeMessage(decoder, bytes, violations);
      if (message === undefined) return undefined;
      const context = { ...createParseContext(extensions, server), certificateProviders };
      const reader: PartReader<ListenerResource | undefined> = isForServers(message)
        ? loadSocketListeners().readSocketListener(bytes, context, violations)
        : readApiListener(message, context, violations);
      return mapReader(reader, (value) => value && { value });
    },
  });
}

function isForServers({ address, apiListener }: Listener): boolean {
  return apiListener === undefined && address !== undefined;
}

/** Returns a reader of a listener of a client. It finishes with `undefined` after adding a violation. */
function readApiListener(
  { name, apiListener }: Listener,
  context: ParseContext,
  violations: Violations,
): PartReader<ApiListener | undefined> {
  if (apiListener === undefined) {
    const reason = 'must have api_listener, as a listener for clients, or address';
    return readerOf(violations.add(reason));
  }
  const at = violations.at('api_listener').at('api_listener');
  const bytes = checkAny(apiListener.apiListener, httpConnectionManagerType, at);
  if (bytes === undefined) return readerOf(undefined);
  const { httpFilters } = context.extensions;
  return mapReader(
    readHttpConnectionManager(bytes, context, httpFilters, at),
    (httpConnectionManager) =>
      httpConnectionManager && { kind: 'api', name, httpConnectionManager },
  );
}
