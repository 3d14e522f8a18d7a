import { cutText, sanitizeText } from '../../../src/util/text';
import { listAt, valueAt } from '../../../src/util/value-at';
import {
  MAX_CAUSE_LENGTH,
  MAX_PATH_BYTES,
  MAX_PATH_RELAYS,
  MAX_RELAY_ADDRESS_LENGTH,
} from './limits';

/** A relay as the relays above it know it. */
export interface PathRelay {
  /** Differs for each start of each relay: process ids and paths are the same in many containers. */
  readonly id: string;
  readonly pid: number;
  /** Where it listens; empty if that is not known. */
  readonly address: string;
}

/** The relays that the streams of a client have passed, the first one first. */
export type RelayPath = readonly PathRelay[];

/** The header of the streams of a relay to the servers above it, which those that are no relays ignore. */
const PATH_HEADER = 'x-grpc-xds-relays-bin';

/** Returns the headers of a stream with this path, of which the last relays are sent. */
export function formatPathHeaders(path: RelayPath): Readonly<Record<string, Buffer>> {
  const relays = path.slice(-MAX_PATH_RELAYS).map(({ id, pid, address }) => ({
    id,
    pid,
    address: address.slice(0, MAX_RELAY_ADDRESS_LENGTH),
  }));
  return { [PATH_HEADER]: Buffer.from(JSON.stringify({ relays })) };
}

/** Returns the path of a stream; empty if its client is no relay, or sends something else in the header. */
export function readPathHeaders(metadata: {
  get(name: string): readonly (string | Buffer)[];
}): RelayPath {
  const [value] = metadata.get(PATH_HEADER);
  if (value === undefined || value.length > MAX_PATH_BYTES) return [];
  let json: unknown;
  try {
    json = JSON.parse(value.toString());
  } catch {
    return [];
  }
  return listAt(json, 'relays').slice(-MAX_PATH_RELAYS).flatMap(parseRelay);
}

function parseRelay(json: unknown): readonly PathRelay[] {
  const [id, pid, address] = ['id', 'pid', 'address'].map((name) => valueAt(json, name));
  const isRelay = typeof id === 'string' && typeof pid === 'number' && typeof address === 'string';
  return isRelay ? [{ id, pid, address: address.slice(0, MAX_RELAY_ADDRESS_LENGTH) }] : [];
}

/** @param address Where it listens. Default: not said. */
function describeRelay(pid: number, address = ''): string {
  return `relay (pid ${pid}${address === '' ? '' : `, ${address}`})`;
}

/** Returns the status with which a relay passes on why it cannot use a management server. */
export function describeRelayedFailure(pid: number, cause: string): string {
  return `${describeRelay(pid)}: ${cutText(cause, MAX_CAUSE_LENGTH)}`;
}

/** Returns why a stream with this path is refused by a relay; `undefined` if the relay is not in it. */
export function findRing(path: RelayPath, own: PathRelay): string | undefined {
  const first = path.findIndex(({ id }) => id === own.id);
  if (first < 0) return undefined;
  const ring = [...path.slice(first), own].map(({ pid, address }) => describeRelay(pid, address));
  return sanitizeText(
    `${describeRelay(own.pid)}: relays use each other as management servers, and none of them a control plane: ${ring.join(' → ')}: name the control plane in the bootstrap of one of them`,
  );
}
