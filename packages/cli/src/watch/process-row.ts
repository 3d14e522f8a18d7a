/** The calls, connections and endpoints of a locality, a cluster or a target, or of an address of a server, at one moment. */
export interface ProcessRow {
  /** Empty in the rows of a server. */
  readonly target: string;
  /** Empty in the row of a target. */
  readonly cluster: string;
  /** Empty in the rows of a target and of a cluster. */
  readonly locality: string;
  /** The address of a server; empty in other rows. */
  readonly server: string;
  /** What of the server the row is about, such as one of its clients; empty in the row of the address. */
  readonly part: string;
  /** Calls that have ended, by the id of the channel or subchannel that counts them. */
  readonly ended: ReadonlyMap<number, EndedCalls>;
  readonly inFlight: number;
  /** The average of the latest calls, in milliseconds; `undefined` without any. */
  readonly latencyMs: number | undefined;
  /** Of the endpoints; for a server, the connections that accept calls. */
  readonly ready: number;
  /** For a server, its connections. */
  readonly endpoints: number;
  readonly state: string;
}

/** As channelz counts them. */
export interface EndedCalls {
  readonly succeeded: number;
  readonly failed: number;
}
