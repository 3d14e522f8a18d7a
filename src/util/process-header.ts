import { valueAt } from './value-at';

/**
 * The header by which a client says which process it is, to a relay or on a Unix socket: Node.js does not read the credentials that a
 * socket has. Servers that do not know it ignore it.
 */
const PROCESS_HEADER = 'x-grpc-xds-process-bin';

/** Bytes of the header. A longer one is ignored. */
const MAX_PROCESS_BYTES = 256;

/** Returns the headers of a stream that say which process its client is. */
export function formatProcessHeaders(pid: number): Readonly<Record<string, Buffer>> {
  return { [PROCESS_HEADER]: Buffer.from(JSON.stringify({ pid })) };
}

/** Returns the process that the client of a stream says it is; `undefined` if it does not say. */
export function readProcessHeaders(metadata: {
  get(name: string): readonly (string | Buffer)[];
}): number | undefined {
  const [value] = metadata.get(PROCESS_HEADER);
  if (value === undefined || value.length > MAX_PROCESS_BYTES) return undefined;
  try {
    return parseProcessId(valueAt(JSON.parse(value.toString()), 'pid'));
  } catch {
    return undefined;
  }
}

/** Returns a value if it can be the id of a process. */
export function parseProcessId(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
