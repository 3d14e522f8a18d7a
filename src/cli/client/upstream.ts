import { loadBootstrap } from '../../bootstrap/load-bootstrap';
import { err, ok, type Result } from '../../util/result';
import type { XdsTransport } from '../../xds-client/transport';
import {
  createClientParts,
  createServerAccess,
  USER_AGENT,
  type ClientSurroundings,
} from './client-parts';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import { createNode } from '../../xds-client/management-servers';
import { type BootstrapOrigin, bootstrapSource } from './bootstrap-origin';

/** A connection to a management server. */
export interface Upstream {
  readonly serverUri: string;
  readonly transport: XdsTransport;
  /** Identifies the command to the server, as the bootstrap says. */
  readonly node: Node;
}

/** Connects to the first server of a bootstrap, with its credentials. Nothing is sent before a stream is opened. */
export function connectUpstream(
  origin: BootstrapOrigin,
  surroundings: ClientSurroundings,
): Result<Upstream, string> {
  const parts = createClientParts(surroundings);
  const { transportFactory, support } = createServerAccess(parts);
  const { flags } = parts.environment;
  const source = bootstrapSource(origin, surroundings.env);
  const bootstrap = loadBootstrap({ ...source, support, flags });
  if (!bootstrap.ok) return err(bootstrap.error.message);
  const [server] = bootstrap.value.servers;
  if (server === undefined) return err('the bootstrap has no server');
  const transport = transportFactory.create(server);
  if (!transport.ok) return transport;
  const node = createNode(bootstrap.value.node, USER_AGENT);
  return ok({ serverUri: server.serverUri, transport: transport.value, node });
}
