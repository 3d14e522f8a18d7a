import { ConnectivityState } from '../../grpc-js';

/** A connection that a session may go on with. */
export interface HostCandidate {
  readonly state: ConnectivityState;
}

/**
 * The connection for a session: the first that is READY, or else the first that is IDLE and so must be made to
 * connect, or else the first that is CONNECTING (gRFC A55).
 *
 * @param addresses Those the session was on, the one in use last first.
 * @param find The connection to an address, if sessions may go there.
 * @returns `undefined` if there is nothing to use or to wait for.
 */
export function chooseHost<Host extends HostCandidate>(
  addresses: readonly string[],
  find: (address: string) => Host | undefined,
): Host | undefined {
  let idle: Host | undefined;
  let connecting: Host | undefined;
  for (const address of addresses) {
    const host = find(address);
    if (host === undefined) continue;
    const { state } = host;
    if (state === ConnectivityState.READY) return host;
    if (state === ConnectivityState.IDLE) idle ??= host;
    else if (state === ConnectivityState.CONNECTING) connecting ??= host;
  }
  return idle ?? connecting;
}
