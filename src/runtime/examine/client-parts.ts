import type { Bootstrap } from '../../bootstrap/bootstrap';
import { parseBootstrap } from '../../bootstrap/bootstrap-parser';
import { loadBootstrap, type LoadBootstrapOptions } from '../../bootstrap/load-bootstrap';
import { serverListenerName } from '../../bootstrap/server-listener-name';
import { HttpFilterRegistry } from '../../http-filters/registry';
import { routerFilter } from '../../http-filters/router/router-filter';
import type { PolicyEnvironment } from '../../lb/registry/policy-table';
import { parseTarget } from '../../resolver/xds-scheme';
import { createNode, type UserAgent } from '../../xds-client/management-servers';
import type { XdsTransport } from '../../xds-client/transport';
import {
  createEnvironment,
  createParts,
  createServerAccess,
  type ClientParts,
  type ServerAccess,
} from '../built-in-parts';
import type { Clock } from '../../util/clock';
import { readFeatureFlags } from '../../util/feature-flags';
import { PACKAGE_VERSION } from '../../util/version';
import { parseIpPort } from '../../util/host-port';
import { err, ok, type Result } from '../../util/result';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';

/** The name under which the commands appear to management servers. */
export const USER_AGENT: UserAgent = { name: 'grpc-xds (command line)', version: PACKAGE_VERSION };

/** What a command needs of its surroundings. */
export interface ClientSurroundings {
  readonly clock: Clock;
  /** The environment variables, as in `process.env`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A client without its bootstrap: the parts that all commands have in common. */
export interface ExaminedParts extends ClientParts {
  readonly environment: PolicyEnvironment;
}

/** Creates the parts of a client, with every policy and filter of this package that the environment variables enable. */
export function createClientParts({ clock, env }: ClientSurroundings): ExaminedParts {
  const environment = createEnvironment({ clock, flags: readFeatureFlags(env) });
  return { environment, ...createParts(environment, new HttpFilterRegistry([routerFilter])) };
}

/** Where the bootstrap is: a file, an object, or the environment. */
export type BootstrapOrigin =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'object'; readonly json: object }
  | {
      readonly kind: 'environment';
      /** What to do instead, in the text of a bootstrap that is missing. Default: pass an option of `register`. */
      readonly otherwise?: string;
    };

/** A client with its bootstrap. */
export interface OpenedBootstrap {
  readonly bootstrap: Bootstrap;
  readonly parts: ExaminedParts;
  readonly access: ServerAccess;
}

/** Creates what a client needs for any bootstrap. */
export function prepareClient(
  surroundings: ClientSurroundings,
): Omit<OpenedBootstrap, 'bootstrap'> {
  const parts = createClientParts(surroundings);
  return { parts, access: createServerAccess(parts.environment, USER_AGENT) };
}

/** Loads a bootstrap as a client does. @returns why it cannot be used, otherwise. */
export function openBootstrap(
  origin: BootstrapOrigin,
  surroundings: ClientSurroundings,
): Result<OpenedBootstrap, string> {
  const prepared = prepareClient(surroundings);
  const { parts, access } = prepared;
  const loaded = loadBootstrap({
    ...sourceOf(origin, surroundings),
    support: access.support,
    flags: parts.environment.flags,
  });
  if (!loaded.ok) return err(loaded.error.message);
  return ok({ bootstrap: loaded.value, ...prepared });
}

function sourceOf(
  origin: BootstrapOrigin,
  { env }: ClientSurroundings,
): Pick<LoadBootstrapOptions, 'inline' | 'otherwise' | 'file' | 'env'> {
  switch (origin.kind) {
    case 'file':
      return { env: {}, file: origin.path };
    case 'object':
      return { env: {}, inline: origin.json };
    case 'environment':
      return { env, otherwise: origin.otherwise };
  }
}

/** Returns why a target or its bootstrap cannot be used; undefined if both can. */
export function findTargetProblem(
  target: string,
  origin: BootstrapOrigin,
  surroundings: ClientSurroundings,
): string | undefined {
  const parsed = parseTarget(target);
  const problem = parsed.ok ? openBootstrap(origin, surroundings) : parsed;
  return problem.ok ? undefined : problem.error;
}

/** Reads a bootstrap as a client does. @returns all violations and warnings; none if it can be used as it is. */
export function validateBootstrap(
  json: unknown,
  surroundings: ClientSurroundings,
): readonly string[] {
  const { parts, access } = prepareClient(surroundings);
  const { flags } = parts.environment;
  const parsed = parseBootstrap(json, 'command line', access.support, flags);
  return parsed.ok ? (parsed.value.warnings ?? []) : parsed.error;
}

/** A connection to a management server. */
export interface Upstream {
  readonly serverUri: string;
  readonly transport: XdsTransport;
  /** Identifies the command to the server, as the bootstrap says. */
  readonly node: Node;
  /** Returns the name of the Listener of a server at `IP:port`, or why it has none. */
  readonly nameListener: (address: string) => Result<string, string>;
}

/** Connects to the first server of a bootstrap, with its credentials. Nothing is sent before a stream is opened. */
export function connectUpstream(
  origin: BootstrapOrigin,
  surroundings: ClientSurroundings,
): Result<Upstream, string> {
  const opened = openBootstrap(origin, surroundings);
  if (!opened.ok) return opened;
  const { bootstrap, access } = opened.value;
  const [server] = bootstrap.servers;
  if (server === undefined) return err('the bootstrap has no server');
  const transport = access.transportFactory.create(server);
  if (!transport.ok) return transport;
  const node = createNode(bootstrap.node, USER_AGENT);
  const nameListener = (text: string) => {
    const parsed = parseIpPort(text);
    if (parsed === undefined) return err(`not an IP address with a port: ${text}`);
    return serverListenerName(bootstrap, parsed.address, parsed.port);
  };
  return ok({ serverUri: server.serverUri, transport: transport.value, node, nameListener });
}
