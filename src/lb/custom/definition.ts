/** The config of a load-balancing policy as it arrived. */
export type LbPolicyConfigInput =
  /** A protobuf message, serialized. */
  | { readonly kind: 'message'; readonly typeName: string; readonly bytes: Uint8Array }
  /** What a TypedStruct or a list of policies in JSON says under the name of the policy (gRFC A52). */
  | { readonly kind: 'json'; readonly typeName: string; readonly json: unknown };

/**
 * A load-balancing policy that an application brings along (gRFC A52). See `registerLbPolicy`.
 *
 * @typeParam Config - What the config of a cluster is parsed into.
 */
export interface LbPolicyDefinition<Config> {
  /** Under which it is found: the key in JSON, and the type name in a TypedStruct, such as `acme.v1.Nearest`. */
  readonly name: string;
  /** The full name of the protobuf message that configures it as well, if there is one. */
  readonly messageType?: string;
  /**
   * Reads and checks a config when a cluster arrives. The cluster is rejected (NACKed) with the message of what this
   * throws, or with all the messages of an `AggregateError`, and the last good one stays in force.
   */
  parseConfig(input: LbPolicyConfigInput): Config;
  /** Makes the policy of one group of endpoints of one channel, such as those of a priority of a cluster. */
  create(host: LbPolicyHost): CustomLbPolicy<Config>;
}

/**
 * A policy at work. Methods are called one at a time and must not wait. When one throws, calls fail with UNAVAILABLE
 * and the name of the policy, until the next update succeeds; other policies go on.
 */
export interface CustomLbPolicy<Config> {
  /** Takes a config and endpoints, of which there is at least one. */
  update(update: LbPolicyUpdate<Config>): void;
  /** A connection is in another state, or is up anew. One that was lost stays idle until told to connect. */
  onConnectionChanged(connection: LbConnection, previous: LbConnectionState): void;
  /** Somebody waits for the channel: connect, if the policy had not done so. */
  exitIdle?(): void;
  /** The policy is not needed any more. Its connections are let go of without its doing. */
  close?(): void;
}

/** What a policy may ask for. */
export interface LbPolicyHost {
  /** Makes the state and the picker those of the policy. Of several in one go, the last counts. */
  publish(state: LbPublishedState): void;
  /** A random number from 0 up to, not including, 1. */
  random(): number;
}

/** What a policy says of itself to what is above it, which uses it or another one accordingly (gRFC A56). */
export type LbPublishedState =
  /** The picker answers calls. */
  | { readonly kind: 'ready'; readonly picker: LbPicker }
  /** Calls wait for the next state; after ten seconds, the next priority is tried as well. */
  | { readonly kind: 'connecting' }
  /** Nothing is connected or failed; the picker may connect. Without one, the first call has `exitIdle` called. */
  | { readonly kind: 'idle'; readonly picker?: LbPicker }
  /** Calls fail with UNAVAILABLE and the reason, or go to the next priority. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Chooses a connection for each call. Called for every call, so whatever can be computed before should be. */
export interface LbPicker {
  /**
   * The connection for a call. The call waits for the next published state if there is none, or if it is not up.
   * When this throws, the call fails with UNAVAILABLE.
   */
  pick(call: LbCall): LbConnection | undefined;
  /** A call was handed to its connection. */
  onCallStarted?(connection: LbConnection): void;
  /** A call that was started has ended, with this status code. */
  onCallEnded?(connection: LbConnection, code: number): void;
}

/** What is known of a call when it is picked for. */
export interface LbCall {
  /** The values of one of the headers the call is made with. */
  header(name: string): readonly (string | Buffer)[];
  /**
   * Sends a header with this attempt, in place of those of its name: what a backend is to learn of the choice. Other
   * attempts of the call do not have it. Throws if the name or the value is not legal.
   */
  setHeader(name: string, value: string | Buffer): void;
}

/** One update. What did not change is the same object as before: the list, its localities and their connections. */
export interface LbPolicyUpdate<Config> {
  readonly config: Config;
  readonly localities: readonly LbLocality[];
}

/** The endpoints of one locality. Another object when anything of it changed, or of the endpoints in it. */
export interface LbLocality {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
  /** Relative to the other localities; at least 1. */
  readonly weight: number;
  /** One for each endpoint. An endpoint listed twice counts where it comes first. */
  readonly connections: readonly LbConnection[];
}

/** Of a connection. `idle`: none is sought. `failed`: none could be made; the next attempt follows by itself. */
export type LbConnectionState = 'idle' | 'connecting' | 'ready' | 'failed';

/** The connection to one endpoint, which stays the same object for as long as the endpoint is listed. */
export interface LbConnection {
  readonly endpoint: LbEndpoint;
  readonly state: LbConnectionState;
  /** Why the state is `failed`; `undefined` in any other. */
  readonly error: string | undefined;
  /** Starts connecting if idle. May be called from anywhere, picks included. */
  connect(): void;
}

/** One backend, as the control plane describes it. */
export interface LbEndpoint {
  /** Everything under which it can be reached, best first (gRFC A61). */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** Relative to the other endpoints of the locality; at least 1. */
  readonly weight: number;
  readonly health: 'UNKNOWN' | 'HEALTHY' | 'DRAINING';
  /** Empty if none. */
  readonly hostname: string;
  readonly metadata: LbEndpointMetadata;
}

/** What the control plane attached to an endpoint (EDS `LbEndpoint.metadata`), by the name of who it is for. */
export interface LbEndpointMetadata {
  /** JSON objects, such as the one of `envoy.lb`. Empty if none. Endpoints may share them: not to be changed. */
  readonly filterMetadata: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  /** Messages, serialized. Empty if none. */
  readonly typedFilterMetadata: ReadonlyMap<
    string,
    { readonly typeUrl: string; readonly value: Uint8Array }
  >;
}
