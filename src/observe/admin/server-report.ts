/** An address of an `XdsServer`, from `bindAsync` until its last connection has closed. Lists have at most 100 entries. */
export interface ServerReport {
  /** The address as passed to `bindAsync`, such as `0.0.0.0:50051`. */
  readonly address: string;
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
  readonly state: 'SERVING' | 'NOT_SERVING';
  /** Why it is not served, if the state is `NOT_SERVING`. */
  readonly reason?: string;
  /** When the state began. */
  readonly since: string;
  /** The Listener of the address, by its name. */
  readonly listener: {
    readonly name: string;
    /** That was accepted last. It is not in use yet if `waitingFor` has routes of it. */
    readonly version?: string;
    /** When the Listener in use came into use, with the connections accepted by it: it is a generation. */
    readonly inUseSince?: string;
  };
  /** One line for each pending resource of the servers of the process. */
  readonly waitingFor: readonly string[];
  /** Of the Listener in use. */
  readonly filterChains: readonly FilterChainReport[];
  /** The number of filter chains that are left out. */
  readonly otherFilterChains: number;
  /** The open connections. */
  readonly connections: ServerConnectionsReport;
  /** Since `bindAsync`. */
  readonly calls: ServerCallsReport;
  /** The calls that were refused, by their cause, such as a policy that denies them, with the most calls first. */
  readonly refusals: readonly RefusalReport[];
  /**
   * The calls of each client in the last 5 minutes, by filter chain, with the most calls first, at most 1,000 entries. They are
   * counted while a live page is served; absent otherwise.
   */
  readonly recentCalls?: readonly RecentCallsReport[];
  /** Of connections with TLS. */
  readonly handshakes: {
    readonly succeeded: number;
    /** By cause, with the most handshakes first. */
    readonly failures: readonly HandshakeFailureReport[];
  };
}

/** A filter chain of the Listener in use. */
export interface FilterChainReport {
  /** May be empty. */
  readonly name: string;
  /** The connections that it matches, such as `to 10.0.0.0/8, from EXTERNAL`; `default` for all others. */
  readonly match: string;
  /** `plain text`, `TLS of the application`, or for example `TLS, client certificate required`. */
  readonly tls: string;
  /** Its RBAC filters, in their order. */
  readonly rbac: readonly {
    readonly filter: string;
    /** `none`: it allows every call, unless a route overrides it. */
    readonly action: 'allow' | 'deny' | 'none';
    /** The number of its policies. */
    readonly policies: number;
  }[];
  /** Where its routes come from, and whether there are any. */
  readonly routes: {
    /** Of RDS; absent for routes inside of the Listener. */
    readonly name?: string;
    /** Why there are none, so that calls fail. */
    readonly failure?: string;
  };
}

/** The open connections of an address. */
export interface ServerConnectionsReport {
  /** All connections, including the ones that accept no more calls. */
  readonly open: number;
  /** By the Listener that accepted them; the one in use is last. */
  readonly generations: readonly {
    readonly since: string;
    readonly isInUse: boolean;
    readonly connections: number;
    /** The connections that accept no more calls. */
    readonly draining: number;
  }[];
  /** The clients with the most connections first. */
  readonly identities: readonly {
    /** A name of the certificate, such as a SPIFFE id; or `plain text`, `no certificate` or `in handshake`. */
    readonly identity: string;
    readonly connections: number;
  }[];
  /** The number of clients that are left out. */
  readonly otherIdentities: number;
}

/** The calls of an address. */
export interface ServerCallsReport {
  /** The calls that a filter chain has judged, including refused ones. */
  readonly started: number;
  /** The calls in progress. */
  readonly inProgress: number;
  /** The calls that ended with OK. */
  readonly succeeded: number;
  /** The calls that were refused, cancelled, or ended with an error. */
  readonly failed: number;
}

/** Calls that were refused for the same cause. */
export interface RefusalReport {
  /** The status of the calls, such as `PERMISSION_DENIED`. */
  readonly status: string;
  /** The name of the HTTP filter that refused them; empty if no filter did, for instance without a route. */
  readonly filter: string;
  /** Whether the rules of the filter allow what they match, or deny it; empty for a filter without rules. */
  readonly action: 'allow' | 'deny' | '';
  /** The policy that matched them; empty if none did. */
  readonly policy: string;
  /** How many. */
  readonly calls: number;
  /** When the last one was refused. */
  readonly lastAt: string;
}

/** The calls of a client that a filter chain judged in the last minutes. */
export interface RecentCallsReport {
  /** As in the connections; `others` beyond 1,000 clients in a minute. */
  readonly identity: string;
  /** The name of the filter chain, or what it matches. */
  readonly filterChain: string;
  /** All calls, including refused ones. */
  readonly calls: number;
  /** The refused calls, by cause; see `RefusalReport`. */
  readonly refusals: readonly {
    readonly status: string;
    readonly filter: string;
    readonly policy: string;
    readonly calls: number;
  }[];
}

/** Handshakes that failed for the same cause. */
export interface HandshakeFailureReport {
  /** A code of Node.js or OpenSSL, or `ALPN`, `NO_CERTIFICATE`, `NAMES`, `TRUST_DOMAIN` or `NOT_LOADED`: the server had no certificate. */
  readonly cause: string;
  /** How many. */
  readonly handshakes: number;
  /** When the last one failed. */
  readonly lastAt: string;
}
