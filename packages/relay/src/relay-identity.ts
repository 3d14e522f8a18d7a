import { valueAt } from '../../../src/util/value-at';
import type { RelayReport } from './relay-report';

/** How a relay makes itself known to the processes that look for one. */
export type RelayIdentity = Pick<
  RelayReport,
  'pid' | 'address' | 'nodeId' | 'upstream' | 'startedAtMs'
>;

/** A relay as another process knows it. An older one does not say what its upstream is, nor when it has started. */
export interface KnownRelay {
  readonly pid: number;
  readonly upstream: string | undefined;
  readonly startedAtMs: number | undefined;
}

/** The request of the method `Inspect` for the identity alone. Relays that do not know it answer with the whole report. */
export const IDENTITY_REQUEST = 'identity';

/** Parses the response of the method `Inspect`. Returns `undefined` if it is not that of a relay. */
export function parseRelayIdentity(bytes: Buffer): KnownRelay | undefined {
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
  const relay = valueAt(json, 'relay');
  const pid = valueAt(relay, 'pid');
  const [upstream, startedAtMs] = [valueAt(relay, 'upstream'), valueAt(relay, 'startedAtMs')];
  if (typeof pid !== 'number') return undefined;
  return {
    pid,
    upstream: typeof upstream === 'string' ? upstream : undefined,
    startedAtMs: typeof startedAtMs === 'number' ? startedAtMs : undefined,
  };
}
