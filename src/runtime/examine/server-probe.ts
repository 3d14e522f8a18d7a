import type { Bootstrap, ServerConfig } from '../../bootstrap/bootstrap';
import type { ClusterResource } from '../../resources/cluster/cluster';
import type { Handle } from '../../util/handle';
import { noClientEvents } from '../../xds-client/client-snapshot';
import { LoadReporter } from '../../xds-client/lrs/load-reporter';
import { createNode } from '../../xds-client/management-servers';
import { isDisplaced } from '../../xds-client/stream-ends';
import type { StreamStatus } from '../../xds-client/transport';
import { XdsClient } from '../../xds-client/xds-client';
import { USER_AGENT, type OpenedBootstrap } from './client-parts';
import { observeTransports, type StreamObserver } from './observed-transports';

/** Receives how a server reacts to a request. */
interface ReactionObserver extends StreamObserver {
  /** A response has been read. */
  onAnswered(): void;
}

/**
 * Requests a Listener from one server of a bootstrap.
 *
 * @param observer A stream that another process has displaced is not closed for it: the client opens another one.
 * @returns the request, whose release ends the stream.
 */
export function requestListener(
  { bootstrap, parts, access }: OpenedBootstrap,
  server: ServerConfig,
  name: string,
  observer: ReactionObserver,
): Handle {
  const { clock, random, logger } = parts.environment;
  let displaced: StreamStatus | undefined;
  const client = new XdsClient({
    bootstrap: onlyServer(bootstrap, server),
    transportFactory: observeTransports(access.transportFactory, {
      onMessage: () => observer.onMessage(),
      // The client opens another stream, and says when it gives up.
      onClosed: (status) => {
        if (isDisplaced(status)) displaced = status;
        else observer.onClosed(status);
      },
    }),
    clock,
    random,
    logger,
    userAgent: USER_AGENT,
    events: { ...noClientEvents, onResponse: () => observer.onAnswered() },
  });
  client.watch(parts.types.listener, name, {
    onResourceChanged(update) {
      // Of a server whose transport cannot be created, and that therefore has no stream, or that has displaced all streams.
      if (!update.ok) observer.onClosed(displaced ?? { code: 14, details: update.error.message });
    },
    onAmbientError() {},
  });
  return { release: () => client.close() };
}

function onlyServer(bootstrap: Bootstrap, server: ServerConfig): Bootstrap {
  const servers = [server];
  const authorities = [...bootstrap.authorities].map(
    ([name, authority]) => [name, { ...authority, servers }] as const,
  );
  return { ...bootstrap, servers, authorities: new Map(authorities) };
}

/** Opens the stream of load reports of a cluster to a server (gRFC A27). @returns the stream, whose release ends it. */
export function openLoadReports(
  { bootstrap, parts, access }: OpenedBootstrap,
  server: ServerConfig,
  { name: cluster, discovery }: Pick<ClusterResource, 'name' | 'discovery'>,
  observer: StreamObserver,
): Handle {
  const { environment } = parts;
  const reporter = new LoadReporter({
    ...environment,
    node: createNode(bootstrap.node, USER_AGENT),
    transportFactory: observeTransports(access.transportFactory, observer),
    choosesMetrics: environment.flags.lrsPropagation,
  });
  const edsServiceName = discovery.kind === 'eds' ? discovery.serviceName : '';
  return reporter.acquire({ server, cluster, edsServiceName, metrics: [] });
}
