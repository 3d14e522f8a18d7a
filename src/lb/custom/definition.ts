import { FUNCTION, optional, TEXT, type MembersOf } from '../../util/check-arguments';
import type { ChildChannelOptions } from '../../grpc-js/child-channel-options';

/** The config of a load-balancing policy as received. */
export type LbPolicyConfigInput =
  /** A protobuf message, serialized. */
  | { readonly kind: 'message'; readonly typeName: string; readonly bytes: Uint8Array }
  /** The value under the name of the policy in a TypedStruct or a JSON list of policies (gRFC A52). */
  | { readonly kind: 'json'; readonly typeName: string; readonly json: unknown };

/**
 * A load-balancing policy of an application (gRFC A52). See `registerLbPolicy`.
 *
 * @typeParam Config - The parsed config of a cluster.
 */
export interface LbPolicyDefinition<Config> {
  /** The key of the policy in JSON, and its type name in a TypedStruct, such as `acme.v1.Nearest`. */
  readonly name: string;
  /** The full name of the protobuf message that configures the policy as well, if any. */
  readonly messageType?: string;
  /**
   * Validates the config of a received cluster. The cluster is rejected (NACKed) with the message of an error this
   * throws, or with all messages of an `AggregateError`, and the last good cluster stays in use.
   */
  parseConfig(input: LbPolicyConfigInput): Config;
  /** Creates the policy of one group of endpoints of one channel, such as the endpoints of a priority of a cluster. */
  create(host: LbPolicyHost): CustomLbPolicy<Config>;
}

/** What the members of a definition must be. */
export const LB_POLICY: MembersOf<LbPolicyDefinition<unknown>> = {
  name: TEXT,
  parseConfig: FUNCTION,
  create: FUNCTION,
  messageType: optional(TEXT),
};

/**
 * An instance of a policy. Methods are called one at a time and must not wait. After one throws, calls fail with
 * UNAVAILABLE and the name of the policy, until the next update succeeds; other policies are not affected.
 */
export interface CustomLbPolicy<Config> {
  /** Applies a config and at least one endpoint. */
  update(update: LbPolicyUpdate<Config>): void;
  /** The state of a connection changed, or it is ready again. A lost connection stays idle until `connect` is called. */
  onConnectionChanged(connection: LbConnection, previous: LbConnectionState): void;
  /** Starts connecting, if the policy is idle: the application waits for the channel, or a call needs a connection. */
  exitIdle?(): void;
  /** Closes the policy. Its connections are released automatically. */
  close?(): void;
}

/** The services that a policy can use. */
export interface LbPolicyHost {
  /** Publishes a state and a picker. If it is called several times in one batch, the last one counts. */
  publish(state: LbPublishedState): void;
  /** Returns a random number from 0 up to, not including, 1. */
  random(): number;
}

/** The state of a policy, by which its parent decides whether to use it (gRFC A56). */
export type LbPublishedState =
  /** Calls use the picker. */
  | { readonly kind: 'ready'; readonly picker: LbPicker }
  /** Calls wait for the next state; after ten seconds, the next priority is tried. */
  | { readonly kind: 'connecting' }
  /**
   * The policy is not connecting; the picker may connect. Without a picker, the first call makes `exitIdle` be called.
   */
  | { readonly kind: 'idle'; readonly picker?: LbPicker }
  /** Calls fail with UNAVAILABLE and the reason, or use the next priority. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Chooses the connection of each call. */
export interface LbPicker {
  /**
   * Returns the connection for a call. Called for every call, so it should compute as little as possible. The call
   * waits for the next published state if `undefined` is returned or the connection is not ready. If this throws, the
   * call fails with UNAVAILABLE.
   */
  pick(call: LbCall): LbConnection | undefined;
  /** A call was started on its connection. */
  onCallStarted?(connection: LbConnection): void;
  /** A call that was started has ended, with this status code. */
  onCallEnded?(connection: LbConnection, code: number): void;
}

/** The call of a pick. */
export interface LbCall {
  /** Returns the values of a request header. */
  header(name: string): readonly (string | Buffer)[];
  /**
   * Sets a request header of this attempt only, replacing headers of the same name, for example to tell the backend about the
   * choice. Throws if the name or the value is not valid.
   */
  setHeader(name: string, value: string | Buffer): void;
}

/** One update. Unchanged parts are the same objects as before: the list, its localities and their connections. */
export interface LbPolicyUpdate<Config> {
  readonly config: Config;
  /**
   * The child channel options of the channel (gRFC A110), as options of a client of `@grpc/grpc-js`, for the channels that the
   * policy creates. Empty if there are none.
   */
  readonly childChannelOptions: ChildChannelOptions;
  readonly localities: readonly LbLocality[];
}

/** The endpoints of one locality. Another object if anything in it changed. */
export interface LbLocality {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
  /** Relative to the other localities; at least 1. */
  readonly weight: number;
  /** One for each endpoint. An endpoint that is listed twice appears only once. */
  readonly connections: readonly LbConnection[];
}

/** The state of a connection. `idle`: not connecting. `failed`: the last attempt failed; the next follows by itself. */
export type LbConnectionState = 'idle' | 'connecting' | 'ready' | 'failed';

/** The connection to one endpoint: the same object as long as the endpoint is listed. */
export interface LbConnection {
  readonly endpoint: LbEndpoint;
  readonly state: LbConnectionState;
  /** The error in the state `failed`; `undefined` in any other. */
  readonly error: string | undefined;
  /** Starts connecting if idle. May be called at any time, also from a pick. */
  connect(): void;
}

/** One backend, as the control plane describes it. */
export interface LbEndpoint {
  /** All addresses of the endpoint, best first (gRFC A61). */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** Relative to the other endpoints of the locality; at least 1. */
  readonly weight: number;
  readonly health: 'UNKNOWN' | 'HEALTHY' | 'DRAINING';
  /** Empty if none. */
  readonly hostname: string;
  readonly metadata: LbEndpointMetadata;
}

/** The metadata of an endpoint (EDS `LbEndpoint.metadata`), by namespace. */
export interface LbEndpointMetadata {
  /** JSON objects, such as `envoy.lb`. Empty if none. Must not be modified: endpoints may share them. */
  readonly filterMetadata: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  /** Messages, serialized. Empty if none. */
  readonly typedFilterMetadata: ReadonlyMap<
    string,
    { readonly typeUrl: string; readonly value: Uint8Array }
  >;
}
