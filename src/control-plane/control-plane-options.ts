import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import type {
  ClientEvent,
  ClientIdentity,
  ClientNode,
  ClientRequest,
  DeltaClientRequest,
} from './client-state';
import type { ImitatedServer } from './imitation';
import type { LoadReport } from './load-report';
import type { LoadReporting } from './load-stream';
import type { Snapshot } from './snapshot';

/** How a control plane behaves. Every field has a default. */
export interface ControlPlaneOptions {
  /** What clients are told at first. Default: nothing. Must be consistent. */
  readonly snapshot?: Snapshot;
  /**
   * Which group a client belongs to, by what it says of itself: its metadata, its locality. `setSnapshot` can tell a
   * group something of its own. Asked for each stream, and again with each new snapshot; undefined means no group,
   * and so does throwing.
   */
  readonly groupOf?: (node: ClientNode) => string | undefined;
  /** IP address or name to listen on. Default `127.0.0.1`: this server has no authentication. */
  readonly host?: string;
  /** `control_plane.identifier` of every response. Default `grpc-xds`. */
  readonly identifier?: string;
  /**
   * Wraps resources in `envoy.service.discovery.v3.Resource` for clients that announce the feature
   * `xds.config.resource-in-sotw`. Default false.
   */
  readonly wrapResources?: boolean;
  /**
   * Treats requests as another server does, to test clients against it. `istiod` ignores every request that rejects a
   * response, and every one that answers an earlier response than the last, with the names in it; takes a
   * state-of-the-world request without a nonce for the first one; and sends each client everything it has requested with
   * every new snapshot. Default: as this server does by itself.
   */
  readonly imitate?: ImitatedServer;
  /**
   * Whether clients hear by themselves, twice in the time a resource lives, that those with a time to live are
   * still good. Only clients that announce the feature `xds.config.supports-resource-ttl` (and, on state-of-the-world
   * streams, `xds.config.resource-in-sotw`) are told of times to live at all. Default true.
   */
  readonly heartbeats?: boolean;
  /** Told of everything that happens between a client and this server. */
  readonly onClientEvent?: (event: ClientEvent) => void;
  /** Shown every state-of-the-world request before it is answered. */
  readonly onRequest?: (client: ClientIdentity, request: ClientRequest) => void;
  /** Shown every incremental request before it is answered. */
  readonly onDeltaRequest?: (client: ClientIdentity, request: DeltaClientRequest) => void;
  /** What clients are asked to report of their calls. */
  readonly loadReporting?: LoadReporting;
  /** Told of every load report (LRS) with something in it. */
  readonly onLoadReport?: (client: ClientIdentity, report: LoadReport) => void;
  /** Default: writes nothing. */
  readonly logger?: Logger;
  /** Default: the real time. */
  readonly clock?: Clock;
}

/** Where a control plane listens. */
export interface ListeningAddress {
  readonly port: number;
  /** `host:port`, as a bootstrap's `server_uri` wants it. */
  readonly address: string;
}

/** How a snapshot is put in place. */
export interface SetSnapshotOptions {
  /** The node to tell. Default: every node that has no snapshot of its own, nor one of its group. */
  readonly nodeId?: string;
  /** The group to tell, as the option `groupOf` names it: those of its nodes that have no snapshot of their own. */
  readonly group?: string;
  /** Accepts a snapshot with references to resources it does not hold. Default false. */
  readonly allowInconsistent?: boolean;
}
