import { innermostSubchannel } from './subchannel-wrappers';

/** What was received on a connection when a call on it last had no answer. */
interface Sample {
  readonly bytes: number;
  /** On the monotonic clock. */
  readonly sinceMs: number;
}

/** By the HTTP/2 session. */
const samples = new WeakMap<object, Sample>();

/**
 * Returns for how many milliseconds at least a connection has received nothing: since the first of the calls that had no
 * answer in a row. `undefined` for that one, and where the connection cannot be seen. Called only for a call whose
 * deadline has passed: no connection is watched.
 *
 * grpc-js keeps the session in private fields
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/transport.ts, `Http2Transport`).
 */
export function connectionSilenceMs(subchannel: object, nowMs: number): number | undefined {
  const session = member(member(innermostSubchannel(subchannel), 'transport'), 'session');
  if (session === undefined) return undefined;
  const socket = member(session, 'socket');
  const bytes: unknown = socket && Reflect.get(socket, 'bytesRead');
  if (typeof bytes !== 'number') return undefined;
  const known = samples.get(session);
  if (known?.bytes === bytes) return nowMs - known.sinceMs;
  samples.set(session, { bytes, sinceMs: nowMs });
  return undefined;
}

function member(of: object | undefined, name: string): object | undefined {
  const value: unknown = of && Reflect.get(of, name);
  return typeof value === 'object' && value !== null ? value : undefined;
}
