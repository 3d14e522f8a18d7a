/** The addresses of a connection, as in a server call of `@grpc/grpc-js`. */
export interface ConnectionEnds {
  /** An IP address; absent for a Unix socket. */
  readonly localAddress?: string | undefined;
  /** Absent with the address. */
  readonly localPort?: number | undefined;
  /** An IP address; absent for a Unix socket. */
  readonly remoteAddress?: string | undefined;
  /** Absent with the address. */
  readonly remotePort?: number | undefined;
}

/** Returns what no other open connection has; `undefined` for a socket without addresses, such as one of a path. */
export function connectionKeyOf(ends: ConnectionEnds): string | undefined {
  const { localAddress, localPort, remoteAddress, remotePort } = ends;
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}
