import { channel } from 'node:diagnostics_channel';

/** The fields of every event. */
export interface DiagnosticEvent {
  /** `node.id` of the bootstrap. */
  readonly nodeId: string;
}

/** A management server. */
export interface ServerEvent extends DiagnosticEvent {
  /** `server_uri` of the bootstrap. */
  readonly serverUri: string;
}

/** A management server cannot be reached, or its stream ended before it answered. */
export interface ServerFailedEvent extends ServerEvent {
  /** The error of the calls that fail. */
  readonly error: string;
  /** Milliseconds until the next attempt. */
  readonly retryInMs: number;
}

/** A resource that is watched. */
export interface ResourceEventBase extends DiagnosticEvent {
  /** The target of the channels that watch it, such as `xds:///echo.example.com`. */
  readonly target: string | undefined;
  /** Such as `type.googleapis.com/envoy.config.listener.v3.Listener`. */
  readonly typeUrl: string;
  readonly name: string;
  /** The server that the event is about; `undefined` if it is about all of them. */
  readonly serverUri: string | undefined;
}

/** A value came into use. Sending the same value again is not an event. */
export interface ResourceAcceptedEvent extends ResourceEventBase {
  readonly version: string;
}

/** A resource was rejected. */
export interface ResourceNackedEvent extends ResourceEventBase {
  readonly version: string;
  /** The violations. */
  readonly error: string;
  /** Whether an older value stays in use. */
  readonly isOldValueInUse: boolean;
}

/** Why there is no value, or the value may be outdated. */
export type ResourceProblem = 'does-not-exist' | 'unreachable' | 'server-error' | 'timeout';

/** There is no value; `reason` says why. */
export interface ResourceMissingEvent extends ResourceEventBase {
  readonly reason: ResourceProblem;
  readonly error: string;
}

/** The value in use may be outdated. */
export interface ResourceStaleEvent extends ResourceEventBase {
  readonly reason: ResourceProblem;
  readonly error: string;
}

/** A resource has been pending for five seconds. */
export interface ResourceWaitingEvent extends ResourceEventBase {
  /** Describes what the resource waits for, and what comes next; also in the log. */
  readonly text: string;
}

/** A target uses another server of an authority (gRFC A71). */
export interface FallbackEvent extends DiagnosticEvent {
  /** The target, such as `xds:///echo.example.com`. Other targets may keep their server. */
  readonly target: string | undefined;
  /** The name of the authority in the bootstrap; `undefined` for names without one. */
  readonly authority: string | undefined;
  /** Whether it moves to a server further down the list, or back up. */
  readonly direction: 'down' | 'back';
  readonly fromServerUri: string;
  readonly toServerUri: string;
}

/** A channel has a new config. */
export interface ConfigPublishedEvent extends DiagnosticEvent {
  /** The target that the channel was created with. */
  readonly target: string;
  /** Name of the listener. */
  readonly listener: string;
  /** How many clusters it has, usable or not. */
  readonly clusters: number;
}

/** A channel has no config: its calls fail. */
export interface ConfigFailedEvent extends DiagnosticEvent {
  readonly target: string;
  /** The error of the calls that fail. */
  readonly error: string;
}

/**
 * A channel without xDS credentials uses a cluster that the control plane requires TLS for: the credentials of the channel
 * decide how connections are secured. Published once per cluster of a process.
 */
export interface TlsNotUsedEvent extends DiagnosticEvent {
  readonly cluster: string;
}

/** The result of a TLS handshake (gRFC A118). */
export type TlsHandshakeResult =
  | 'SUCCESS'
  | 'CERTIFICATE_VERIFICATION_FAILED'
  | 'CERTIFICATE_EXPIRED'
  | 'CERTIFICATE_NOT_YET_VALID'
  | 'CERTIFICATE_AUTHORITY_INVALID'
  | 'CERTIFICATE_HOSTNAME_MISMATCH'
  | 'CIPHER_SUITE_MISMATCH'
  | 'PROTOCOL_VERSION_UNSUPPORTED'
  | 'NO_APPLICATION_PROTOCOL'
  | 'SIGNATURE_VERIFICATION_FAILED'
  | 'DECRYPTION_FAILED'
  | 'KEY_EXCHANGE_FAILURE'
  | 'UNEXPECTED_MESSAGE'
  | 'HANDSHAKE_TIMEOUT'
  | 'PEER_CONNECTION_CLOSED'
  | 'UNKNOWN_FAILURE';

/** A TLS handshake of a connection to a cluster has ended (gRFC A118). */
export interface TlsHandshakeEvent extends DiagnosticEvent {
  readonly cluster: string;
  readonly result: TlsHandshakeResult;
  /** Milliseconds. */
  readonly durationMs: number;
  /** Such as `TLSv1.3`; `undefined` if it failed. */
  readonly protocol: string | undefined;
  /** Why it failed; `undefined` if it did not. */
  readonly error: string | undefined;
}

/** An xDS server serves an address, or does not, for the given reason. */
export interface ServingStateEvent extends DiagnosticEvent {
  /** The address as passed to `bindAsync`. */
  readonly address: string;
  /** The name of the Listener. */
  readonly name: string;
  readonly state: 'SERVING' | 'NOT_SERVING';
  /** Why it is not served; `undefined` if it is. */
  readonly error: string | undefined;
}

/** An xDS server refused a call, for example because of a policy. The caller does not learn the reason. */
export interface CallRefusedEvent extends DiagnosticEvent {
  /** The address as passed to `bindAsync`. */
  readonly address: string;
  /** The method, such as `/package.Service/Method`. */
  readonly path: string;
  /** The status, such as `PERMISSION_DENIED`. */
  readonly status: string;
  /** The policy that matched; `undefined` if none did. */
  readonly policy: string | undefined;
  /** The name of the HTTP filter; `undefined` if none refused the call. */
  readonly filter: string | undefined;
  /** Whether the rules of the filter deny what they match, or allow it; `undefined` for a filter without rules. */
  readonly action: 'allow' | 'deny' | undefined;
  /** The IP address of the client; `undefined` if the connection cannot be described. */
  readonly client: string | undefined;
  /** The first URI of the certificate of the client; `undefined` without one. */
  readonly identity: string | undefined;
  /** The reason, as in the log. */
  readonly error: string;
}

/** An endpoint of a cluster, on one channel. */
export interface EndpointEvent extends DiagnosticEvent {
  /** The target that the channel was created with. */
  readonly target: string;
  readonly cluster: string;
  /** Such as `10.0.0.1:80`; several are separated by commas. */
  readonly address: string;
}

/** Outlier detection has ejected an endpoint (gRFC A50). If it is ejected again, there is another event. */
export interface EndpointEjectedEvent extends EndpointEvent {
  /** The algorithm that ejected it. */
  readonly method: 'success_rate' | 'failure_percentage';
  /** The calls since the last sweep, such as `3 calls succeeded, 7 failed`. */
  readonly text: string;
}

/** An endpoint takes calls again after its ejection. */
export type EndpointUnejectedEvent = EndpointEvent;

/** A cluster of one channel. */
export interface ClusterEvent extends DiagnosticEvent {
  /** The target that the channel was created with. */
  readonly target: string;
  readonly cluster: string;
  /** As in the log. */
  readonly text: string;
}

/** The channels of `node:diagnostics_channel` on which this package publishes, and the type of each message. */
export interface DiagnosticEvents {
  /** A management server answered for the first time, or for the first time after a failure. */
  readonly 'grpc-xds:server-connected': ServerEvent;
  readonly 'grpc-xds:server-failed': ServerFailedEvent;
  readonly 'grpc-xds:resource-accepted': ResourceAcceptedEvent;
  readonly 'grpc-xds:resource-nacked': ResourceNackedEvent;
  readonly 'grpc-xds:resource-missing': ResourceMissingEvent;
  readonly 'grpc-xds:resource-stale': ResourceStaleEvent;
  readonly 'grpc-xds:resource-waiting': ResourceWaitingEvent;
  readonly 'grpc-xds:fallback': FallbackEvent;
  readonly 'grpc-xds:config-published': ConfigPublishedEvent;
  readonly 'grpc-xds:config-failed': ConfigFailedEvent;
  readonly 'grpc-xds:tls-not-used': TlsNotUsedEvent;
  readonly 'grpc-xds:tls-handshake': TlsHandshakeEvent;
  readonly 'grpc-xds:endpoint-ejected': EndpointEjectedEvent;
  readonly 'grpc-xds:endpoint-unejected': EndpointUnejectedEvent;
  readonly 'grpc-xds:endpoints-failed': ClusterEvent;
  readonly 'grpc-xds:endpoints-recovered': ClusterEvent;
  readonly 'grpc-xds:endpoints-removed': ClusterEvent;
  readonly 'grpc-xds:cluster-failed': ClusterEvent;
  readonly 'grpc-xds:cluster-recovered': ClusterEvent;
  readonly 'grpc-xds:serving-state': ServingStateEvent;
  readonly 'grpc-xds:call-refused': CallRefusedEvent;
}

/** One of the channels. */
export interface DiagnosticChannel<T> {
  /** Whether there is a subscriber. Checked before a message is created. */
  readonly hasSubscribers: boolean;
  publish(message: T): void;
}

function open<K extends keyof DiagnosticEvents>(name: K): DiagnosticChannel<DiagnosticEvents[K]> {
  return channel(name);
}

// Node.js releases a channel that is not referenced.
/** Every channel. Costs a property read while there is no subscriber. */
export const diagnostics = {
  serverConnected: open('grpc-xds:server-connected'),
  serverFailed: open('grpc-xds:server-failed'),
  resourceAccepted: open('grpc-xds:resource-accepted'),
  resourceNacked: open('grpc-xds:resource-nacked'),
  resourceMissing: open('grpc-xds:resource-missing'),
  resourceStale: open('grpc-xds:resource-stale'),
  resourceWaiting: open('grpc-xds:resource-waiting'),
  fallback: open('grpc-xds:fallback'),
  configPublished: open('grpc-xds:config-published'),
  configFailed: open('grpc-xds:config-failed'),
  tlsNotUsed: open('grpc-xds:tls-not-used'),
  tlsHandshake: open('grpc-xds:tls-handshake'),
  endpointsFailed: open('grpc-xds:endpoints-failed'),
  endpointsRecovered: open('grpc-xds:endpoints-recovered'),
  endpointsRemoved: open('grpc-xds:endpoints-removed'),
  clusterFailed: open('grpc-xds:cluster-failed'),
  clusterRecovered: open('grpc-xds:cluster-recovered'),
  endpointEjected: open('grpc-xds:endpoint-ejected'),
  endpointUnejected: open('grpc-xds:endpoint-unejected'),
  servingState: open('grpc-xds:serving-state'),
  callRefused: open('grpc-xds:call-refused'),
} as const;
