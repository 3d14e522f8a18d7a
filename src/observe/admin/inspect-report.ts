import type { RollUp } from './roll-up';
import type { PolicyState } from '../../lb/tree/policy-state';
import type { Difference } from '../../wire/proto-json/json-diff';
import type {
  ClientSnapshot,
  ResourceStatus,
  ServerSnapshot,
} from '../../xds-client/client-snapshot';
import type { ServerReport } from './server-report';
import type { ShareReport } from './share-report';

/** The options of `inspect()`. */
export interface InspectOptions {
  /** The only target in the report, such as `xds:///shop`. Default: all of the process. */
  readonly target?: string;
  /** Whether resources are included as JSON. Default: `false`. */
  readonly contents?: boolean;
  /** The maximum size of the encoded resources; resources beyond it are left out. Default: 8 MiB. */
  readonly maxBytes?: number;
}

/**
 * The state of the xDS client of a process, as plain JSON. Members may be added; existing ones keep their meaning as long as
 * `schema` is 1. It has no keys, tokens or credentials. Times are ISO 8601 in UTC.
 */
export interface InspectReport {
  readonly schema: 1;
  readonly package: string;
  readonly version: string;
  readonly pid: number;
  /** When the process started. Together with its id, this identifies the process on its machine. */
  readonly startedAt: string;
  readonly time: string;
  /** One for each target that a channel of this process uses. */
  readonly targets: readonly TargetReport[];
  /** The addresses of the `XdsServer`s of this process; empty if a target other than `#server` is chosen. */
  readonly servers: readonly ServerReport[];
  /** The streams that the process shares with others through `register({ share })`. */
  readonly shares: readonly ShareReport[];
  /** The certificates of providers that clusters and servers use. */
  readonly certificates: readonly CertificatesReport[];
}

/** The state of one target. */
export interface TargetReport {
  /** `#server` for the client that the servers of the process share (gRFC A71). */
  readonly target: string;
  /** The ids of its clients to management servers. */
  readonly nodeId: string;
  readonly state: 'ready' | 'waiting' | 'failed';
  /** The overall state of its clusters and their endpoints. */
  readonly rollUp: RollUp;
  /** Why calls fail; only if the state is `failed`. */
  readonly failure?: string;
  /** When the first failure since the target could be used was; only if the state is `failed`. */
  readonly failingSince?: string;
  /** One line for each pending resource and each DNS name without an answer. */
  readonly waitingFor: readonly string[];
  /** The resources that were accepted and are not in use, because others are pending: at most 100. */
  readonly heldBack: readonly HeldBackReport[];
  /** The config in use. */
  readonly config?: {
    readonly listener: string;
    readonly routeConfig: string;
    readonly virtualHost: string;
    /** The number of routes. */
    readonly routes: number;
    readonly clusters: readonly { readonly name: string; readonly error?: string }[];
  };
  /** The load-balancing policies of the channel, with the state of each endpoint. */
  readonly policies?: PolicyState;
  /** The counters of channelz for its channels: at most 100 channels, each with at most 1,000 subchannels. */
  readonly channels: readonly ChannelReport[];
  readonly servers: readonly ServerSnapshot[];
  readonly resources: readonly ResourceReport[];
  /** The last changes of these resources, the oldest first. */
  readonly changes: readonly ChangeReport[];
}

/** A resource that was accepted and is not in use yet. */
export interface HeldBackReport {
  /** Such as `RouteConfiguration "shop"`. */
  readonly resource: string;
  readonly receivedAt: string;
  /** Whether an earlier version is in use. */
  readonly hasEarlier: boolean;
  /** The pending resources and DNS names, at most 10. */
  readonly waitsFor: readonly string[];
  /** The same as a text for people, with its age. */
  readonly text: string;
}

/** The state of one resource. */
export interface ResourceReport {
  /** Such as `Cluster`. */
  readonly type: string;
  readonly name: string;
  readonly status: ResourceStatus;
  /** Of the value in use. */
  readonly version?: string;
  readonly updatedAt?: string;
  /** The size of the encoded value. */
  readonly bytes?: number;
  readonly watchers: number;
  readonly waitingSince?: string;
  /** The latest rejection or error. */
  readonly failure?: {
    readonly version: string;
    readonly details: string;
    readonly at: string;
    /** When the first of the failures since the last accepted update was. */
    readonly since: string;
  };
  /** The fields that it sets without an effect on calls. */
  readonly unusedFields: readonly string[];
  /** The value as JSON, or why it is left out; only if contents are included. */
  readonly contents?: unknown;
}

/** A change of a resource from one server. */
export interface ChangeReport {
  readonly at: string;
  readonly serverUri: string;
  readonly type: string;
  readonly name: string;
  readonly kind: ClientSnapshot['changes'][number]['kind'];
  readonly version: string;
  /** The change, or the reason why there is no new value. */
  readonly text: string;
  /**
   * The differences between the accepted or rejected value and the one accepted before, at most 100. Only
   * if contents are included, and both values are still kept: see docs/limits.md.
   */
  readonly diff?: readonly Difference[];
}

/** The certificates of one name of a provider instance. */
export interface CertificatesReport {
  readonly instance: string;
  readonly plugin: string;
  readonly name: string;
  readonly identity: CertificateState;
  readonly roots: CertificateState;
}

/** The state of an identity or of roots. */
export type CertificateState =
  | { readonly state: 'pending' }
  | { readonly state: 'failed'; readonly error: string }
  | {
      readonly state: 'ready';
      /** How many certificates there are. */
      readonly certificates: number;
      /** When the first of them expires. */
      readonly expiresAt: string;
    };

/** The calls of a channel or subchannel, as channelz counts them. */
export interface CallCounts {
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly lastStartedAt?: string;
}

/** A channel of an `xds:` target, as in channelz. */
export interface ChannelReport {
  /** In channelz. */
  readonly id: number;
  readonly state: string;
  readonly calls: CallCounts;
  readonly subchannels: readonly SubchannelReport[];
}

/** A subchannel. Channels share it, so its calls may come from several channels. */
export interface SubchannelReport {
  readonly id: number;
  readonly address: string;
  readonly state: string;
  readonly calls: CallCounts;
  readonly sockets: readonly SocketReport[];
}

/** A connection. */
export interface SocketReport {
  readonly id: number;
  /** The standard name of the cipher suite; absent without TLS. */
  readonly cipherSuite?: string;
  readonly streams: CallCounts;
  readonly messagesSent: number;
  readonly messagesReceived: number;
  readonly keepAlivesSent: number;
}
