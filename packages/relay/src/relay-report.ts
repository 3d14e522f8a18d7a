import type { ClientState } from 'grpc-xds/control-plane';
import type { ServerSnapshot } from 'grpc-xds';
import type { RelayNode } from './relay-options';

/** The state of a relay, as plain JSON. */
export interface RelayReport {
  readonly pid: number;
  /** The version of this package. */
  readonly version: string;
  /** The address it listens on, in the form of `server_uri`; `undefined` while it does not listen. */
  readonly address: string | undefined;
  /** `node.id` of its bootstrap. */
  readonly nodeId: string;
  /** The management servers of its bootstrap, including authorities, as a text. */
  readonly upstream: string;
  /** When it started, in milliseconds since 1970; `undefined` while it is stopped. */
  readonly startedAtMs: number | undefined;
  /** Whether the management servers receive this node, or the nodes of the clients. */
  readonly node: RelayNode;
  /** The maximum number of nodes of clients. */
  readonly maxNodes: number;
  /** The management servers in use, each once: with several nodes, in a state with an error if it has one for any. */
  readonly servers: readonly ServerSnapshot[];
  /** The nodes that the management servers have received. */
  readonly nodes: readonly RelayNodeReport[];
  /** The resources of all nodes together. */
  readonly types: readonly RelayedTypeReport[];
  /** The clients with a discovery stream. */
  readonly clients: readonly RelayClientReport[];
  /** The clients with a stream of load reports. */
  readonly loadClients: readonly RelayLoadClientReport[];
}

/** A node that a relay has sent to the management servers. */
export interface RelayNodeReport {
  readonly nodeId: string;
  readonly cluster: string;
  /** Discovery streams of clients with this node. */
  readonly clients: number;
  readonly servers: readonly ServerSnapshot[];
  readonly types: readonly RelayedTypeReport[];
}

/** A client with a stream of load reports: the calls that it has reported on it, all clusters together. */
export interface RelayLoadClientReport extends Pick<ClientState, 'streamId' | 'nodeId'> {
  readonly issued: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly dropped: number;
}

/** The resources of one type, by number. */
export interface RelayedTypeReport {
  readonly typeUrl: string;
  /** Requested names, including names that no client subscribes to any more. */
  readonly names: number;
  readonly resources: number;
  readonly errors: number;
  /** Names that do not exist. */
  readonly absent: number;
}

/** A client of a relay. Each text from the client is cut to 1,024 characters. */
export interface RelayClientReport extends Pick<
  ClientState,
  'streamId' | 'nodeId' | 'method' | 'connectedAtMs'
> {
  /** Its address, such as `127.0.0.1:50000`; `undefined` for a Unix socket. */
  readonly peer: string | undefined;
  /** `user_agent_name` of its node, such as `grpc-xds (Node.js)`; empty if absent. */
  readonly userAgentName: string;
  /** The version of that; empty if absent. */
  readonly userAgentVersion: string;
  readonly types: readonly {
    readonly typeUrl: string;
    /** Names that it subscribes to. */
    readonly names: number;
    readonly sentVersion: string | undefined;
    readonly ackedVersion: string | undefined;
    /** Why it has rejected the last response, at most 4,096 characters of it. */
    readonly rejection: string | undefined;
  }[];
}
