import { RELAY_COMPONENT } from '../util/relay-method';
import { cutText, sanitizeText } from '../util/text';
import { listAt, valueAt } from '../util/value-at';

/** A relay in the place of a management server, as the `control_plane.identifier` of its last response describes it. */
export interface RelayHop {
  readonly pid: number;
  /** Its version of this package, at most 64 characters; `undefined` if it does not say. */
  readonly version: string | undefined;
  /** The management servers that it uses. Their states may have changed since. */
  readonly servers: readonly RelayedServer[];
  /** The same for people, such as `relay (pid 12) → istiod:15010`. */
  readonly text: string;
}

/** A management server that a relay uses. */
export interface RelayedServer {
  readonly serverUri: string;
  /** Such as `open`: see `ServerSnapshot.state`. */
  readonly state: string;
  /** The relay that it is in turn; `undefined` if it is none. */
  readonly relay: RelayHop | undefined;
}

/** Characters of an identifier that is parsed. */
const MAX_IDENTIFIER_LENGTH = 16_384;
/** Characters of the version of a relay. */
const MAX_VERSION_LENGTH = 64;
/** Characters of the cause of a status, which is a header of HTTP/2. */
const MAX_CAUSE_LENGTH = 2048;
/** Servers of a relay in an identifier. */
const MAX_SERVERS = 16;
/** Relays above each other in an identifier. */
const MAX_HOPS = 16;

/** A status that a relay ends a stream with because of a management server. */
const RELAYED_FAILURE = /^relay \(pid \d+\): /;

/** Returns the `control_plane.identifier` of the responses of a relay: JSON that names the component, as that of istiod. */
export function formatRelayIdentifier(relay: Omit<RelayHop, 'text'>): string {
  const format = (hops: number) =>
    JSON.stringify({ component: RELAY_COMPONENT, ...encodeHop(relay, hops) });
  const whole = format(MAX_HOPS);
  return whole.length <= MAX_IDENTIFIER_LENGTH ? whole : format(1);
}

/** @param hops How many relays above each other are encoded, this one as well. */
function encodeHop({ pid, version, servers }: Omit<RelayHop, 'text'>, hops: number): object {
  const shown = servers.slice(0, MAX_SERVERS);
  const encodeRelay = (relay: RelayHop | undefined) =>
    relay !== undefined && hops > 1 ? encodeHop(relay, hops - 1) : undefined;
  return {
    ...{ pid, version },
    servers: shown.map(({ serverUri, state, relay }) => ({
      ...{ serverUri, state },
      relay: encodeRelay(relay),
    })),
  };
}

/** Parses the identifier of a server. Returns `undefined` if it is no relay. */
export function parseRelayIdentifier(identifier: string): RelayHop | undefined {
  if (!identifier.includes(RELAY_COMPONENT) || identifier.length > MAX_IDENTIFIER_LENGTH)
    return undefined;
  let json: unknown;
  try {
    json = JSON.parse(identifier);
  } catch {
    return undefined;
  }
  return valueAt(json, 'component') === RELAY_COMPONENT ? parseHop(json, MAX_HOPS) : undefined;
}

/** @param hops How many relays above each other are parsed, this one as well. */
function parseHop(json: unknown, hops: number): RelayHop | undefined {
  const [pid, said] = [valueAt(json, 'pid'), valueAt(json, 'version')];
  if (typeof pid !== 'number' || hops === 0) return undefined;
  const version = typeof said === 'string' ? cutText(said, MAX_VERSION_LENGTH) : undefined;
  const servers = listAt(json, 'servers')
    .slice(0, MAX_SERVERS)
    .flatMap((server) => parseServer(server, hops));
  return { pid, version, servers, text: describeHop(pid, servers) };
}

function parseServer(json: unknown, hops: number): readonly RelayedServer[] {
  const [serverUri, state] = [valueAt(json, 'serverUri'), valueAt(json, 'state')];
  if (typeof serverUri !== 'string' || typeof state !== 'string') return [];
  return [{ serverUri, state, relay: parseHop(valueAt(json, 'relay'), hops - 1) }];
}

/** Describes a relay and the management servers above it for people. */
function describeHop(pid: number, servers: readonly RelayedServer[]): string {
  const above = servers.map(({ serverUri, state, relay }) => {
    const server = state === 'open' ? serverUri : `${serverUri} (${state})`;
    return relay === undefined ? server : `${server}: ${relay.text}`;
  });
  const relay = describeRelay(pid);
  return sanitizeText(above.length === 0 ? relay : `${relay} → ${above.join(', ')}`);
}

/** @param address Where it listens. Default: not said. */
export function describeRelay(pid: number, address = ''): string {
  return `relay (pid ${pid}${address === '' ? '' : `, ${address}`})`;
}

/** Returns the status with which a relay passes on why it cannot use a management server. */
export function describeRelayedFailure(pid: number, cause: string): string {
  return `${describeRelay(pid)}: ${cutText(cause, MAX_CAUSE_LENGTH)}`;
}

/** Whether the details of a status are those of {@link describeRelayedFailure}. */
export function isRelayedFailure(details: string): boolean {
  return RELAYED_FAILURE.test(details);
}
