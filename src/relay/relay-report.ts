import type { ClientState } from '../control-plane/client-state';
import type { ServerSnapshot } from '../xds-client/client-snapshot';

/** The state of a relay, as plain JSON. */
export interface RelayReport {
  readonly pid: number;
  /** Where it listens, in the form of `server_uri`; `undefined` while it does not. */
  readonly address: string | undefined;
  /** `node.id` that it has at the management servers. */
  readonly nodeId: string;
  /** The management servers of its bootstrap, those of authorities as well, as a text. */
  readonly upstream: string;
  /** When it has started, in milliseconds since 1970; `undefined` while it is stopped. */
  readonly startedAtMs: number | undefined;
  /** The management servers in use. */
  readonly servers: readonly ServerSnapshot[];
  readonly types: readonly RelayedTypeReport[];
  /** The clients with a discovery stream. */
  readonly clients: readonly RelayClientReport[];
  /** The clients with a stream of load reports. */
  readonly loadClients: readonly RelayLoadClientReport[];
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
  /** Names that are requested, also those that no client subscribes to any more. */
  readonly names: number;
  readonly resources: number;
  readonly errors: number;
  /** Names that do not exist. */
  readonly absent: number;
}

/** A client of a relay. */
export interface RelayClientReport extends Pick<
  ClientState,
  'streamId' | 'nodeId' | 'method' | 'connectedAtMs'
> {
  readonly types: readonly {
    readonly typeUrl: string;
    readonly names: number;
    readonly sentVersion: string | undefined;
    readonly ackedVersion: string | undefined;
    /** Why it has rejected the last response. */
    readonly rejection: string | undefined;
  }[];
}
