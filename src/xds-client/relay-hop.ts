import { RELAY_COMPONENT } from '../util/relay-method';
import { cutText, sanitizeText } from '../util/text';
import { listAt, valueAt } from '../util/value-at';

/** A relay in the place of a management server, as the `control_plane.identifier` of its last response describes it. */
export interface RelayHop {
  readonly pid: number;
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
}

/** Characters of an identifier that is parsed. */
const MAX_IDENTIFIER_LENGTH = 16_384;
/** Characters of the cause of a status, which is a header of HTTP/2. */
const MAX_CAUSE_LENGTH = 2048;
/** Servers of an identifier. */
const MAX_SERVERS = 16;

/** A status that a relay ends a stream with because of a management server. */
const RELAYED_FAILURE = /^relay \(pid \d+\): /;

/** Returns the `control_plane.identifier` of the responses of a relay: JSON that names the component, as that of istiod. */
export function formatRelayIdentifier(pid: number, servers: readonly RelayedServer[]): string {
  const shown = servers.slice(0, MAX_SERVERS);
  return JSON.stringify({
    component: RELAY_COMPONENT,
    pid,
    servers: shown.map(({ serverUri, state }) => ({ serverUri, state })),
  });
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
  const pid = valueAt(json, 'pid');
  if (valueAt(json, 'component') !== RELAY_COMPONENT || typeof pid !== 'number') return undefined;
  const servers = listAt(json, 'servers').slice(0, MAX_SERVERS).flatMap(parseServer);
  return { pid, servers, text: describeHop(pid, servers) };
}

function parseServer(json: unknown): readonly RelayedServer[] {
  const [serverUri, state] = [valueAt(json, 'serverUri'), valueAt(json, 'state')];
  return typeof serverUri === 'string' && typeof state === 'string' ? [{ serverUri, state }] : [];
}

/** Describes a relay and the management servers above it for people. */
function describeHop(pid: number, servers: readonly RelayedServer[]): string {
  const above = servers.map(({ serverUri, state }) =>
    state === 'open' ? serverUri : `${serverUri} (${state})`,
  );
  const relay = describeRelay(pid);
  return sanitizeText(above.length === 0 ? relay : `${relay} → ${above.join(', ')}`);
}

function describeRelay(pid: number): string {
  return `relay (pid ${pid})`;
}

/** Returns the status with which a relay passes on why it cannot use a management server. */
export function describeRelayedFailure(pid: number, cause: string): string {
  return `${describeRelay(pid)}: ${cutText(cause, MAX_CAUSE_LENGTH)}`;
}

/** Whether the details of a status are those of {@link describeRelayedFailure}. */
export function isRelayedFailure(details: string): boolean {
  return RELAYED_FAILURE.test(details);
}
