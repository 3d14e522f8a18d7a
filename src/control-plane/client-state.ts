import type { NodeMetadata } from './node-metadata';

/** Who is at the other end of a stream. */
export interface ClientIdentity {
  /** Counts the streams of this server since it was made; tells two streams of one node apart. */
  readonly streamId: number;
  /** `node.id` of the stream's first request; empty if that had none. */
  readonly nodeId: string;
  /** Address of the client, or of the proxy before it. */
  readonly peer: string;
}

/** What a client says of itself in the first request of a stream. */
export interface ClientNode {
  readonly id: string;
  readonly cluster: string;
  readonly userAgentName: string;
  /** Empty if the client does not say. */
  readonly userAgentVersion: string;
  readonly clientFeatures: readonly string[];
  readonly locality:
    { readonly region: string; readonly zone: string; readonly subZone: string } | undefined;
  /** The members of `node.metadata` as plain JSON; empty if there are none. */
  readonly metadata: NodeMetadata;
}

/** A request as it came in. */
export interface ClientRequest {
  readonly typeUrl: string;
  readonly resourceNames: readonly string[];
  /** The last version of the type the client has accepted; empty before the first. */
  readonly versionInfo: string;
  /** Nonce of the response this request answers; empty if it answers none. */
  readonly responseNonce: string;
  /** Why the client refused that response; undefined when it did not. */
  readonly errorMessage: string | undefined;
  /** In the first request of a stream. */
  readonly node: ClientNode | undefined;
}

/** An incremental request as it came in. */
export interface DeltaClientRequest extends Pick<
  ClientRequest,
  'typeUrl' | 'responseNonce' | 'errorMessage' | 'node'
> {
  /** Names to add to the subscription, or to be sent again. */
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** Version of each resource the client has from an earlier stream; in the first request of a type. */
  readonly initialVersions: ReadonlyMap<string, string>;
}

/** A response the client refused. */
export interface Rejection {
  /** `version_info` of the refused response. */
  readonly version: string;
  /** The client's words. */
  readonly message: string;
}

/** What one client and this server have said to each other about one type. */
export interface TypeState {
  readonly typeUrl: string;
  /** Names the client asks for, in its order. */
  readonly subscribed: readonly string[];
  /** Whether the client asks for everything of the type. */
  readonly wildcard: boolean;
  /** Version of the last response; undefined before the first. */
  readonly sentVersion: string | undefined;
  /** Version the client last accepted; undefined before the first. */
  readonly ackedVersion: string | undefined;
  /** The last response if the client refused it; undefined once it accepts a later one. */
  readonly rejection: Rejection | undefined;
}

/** A connected client. */
export interface ClientState extends ClientIdentity {
  /** The gRPC method of the stream, such as `StreamAggregatedResources`. */
  readonly method: string;
  /** Wall-clock time of the first request, in milliseconds since the epoch. */
  readonly connectedAtMs: number;
  /** By type URL, in the order of first subscription. */
  readonly types: ReadonlyMap<string, TypeState>;
}

/** Something that happened between a client and this server. */
export type ClientEvent =
  | { readonly kind: 'connected'; readonly client: ClientIdentity }
  | {
      readonly kind: 'subscribed';
      readonly client: ClientIdentity;
      readonly typeUrl: string;
      readonly names: readonly string[];
      readonly wildcard: boolean;
    }
  | {
      readonly kind: 'sent';
      readonly client: ClientIdentity;
      readonly typeUrl: string;
      readonly version: string;
      /** Names of the resources. */
      readonly names: readonly string[];
      /** Names an incremental client was told to forget. */
      readonly removed: readonly string[];
      /** Names the client was sent an error for. */
      readonly failed: readonly string[];
    }
  | {
      readonly kind: 'heartbeat';
      readonly client: ClientIdentity;
      readonly typeUrl: string;
      /** Names of the resources kept alive. */
      readonly names: readonly string[];
    }
  | {
      readonly kind: 'acked';
      readonly client: ClientIdentity;
      readonly typeUrl: string;
      readonly version: string;
    }
  | {
      readonly kind: 'nacked';
      readonly client: ClientIdentity;
      readonly typeUrl: string;
      readonly version: string;
      readonly message: string;
    }
  | { readonly kind: 'disconnected'; readonly client: ClientIdentity };
