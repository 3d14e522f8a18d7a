import { ConnectivityState } from '../../grpc-js';
import type { HealthStatus, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { toIso } from '../../util/since';
import { formatAddress } from '../endpoints/endpoint-key';

/** The name of a connectivity state, as in channelz. */
export type StateName = 'IDLE' | 'CONNECTING' | 'READY' | 'TRANSIENT_FAILURE' | 'SHUTDOWN';

/** Details of a policy or an endpoint in addition to its state, as plain JSON. */
export type StateDetails = Readonly<Record<string, string | number | boolean>>;

/** The state of an endpoint, as plain JSON. */
export interface EndpointState {
  /** `host:port`, best first. */
  readonly addresses: readonly string[];
  /** IDLE if nothing has connected to it yet. */
  readonly state: StateName;
  /** The error of the last attempt to connect, in TRANSIENT_FAILURE. */
  readonly error?: string;
  /** The cause in `error`, without addresses and times: the same for all endpoints that fail alike. */
  readonly cause?: string;
  /** When it began to fail after the last connection, in ISO 8601; absent unless it fails. */
  readonly failingSince?: string;
  /** The health according to the control plane. */
  readonly health: HealthStatus;
  /** Its weight within the locality, according to the control plane. */
  readonly weight: number;
  /** The calls of the cluster on its connections; absent if there was none yet. */
  readonly callsInFlight?: number;
  /**
   * The average time from the start of a call on its connections to the status, of the latest calls. Only of calls that
   * were started within a minute after a description such as this one, and ended in the last minute.
   */
  readonly latencyMs?: number;
  /**
   * Whether outlier detection has ejected it (gRFC A50). If so, it is in TRANSIENT_FAILURE, whatever the state of its connection.
   */
  readonly ejected?: true;
  /** Further details that the policy knows, such as the weight that it calculated. */
  readonly details?: StateDetails;
}

/** Details that a policy reports besides its name and connectivity state. */
export interface PolicyParts {
  /** Such as the cluster or the number of calls in flight. */
  readonly details?: StateDetails;
  readonly children?: readonly ChildState[];
  readonly endpoints?: readonly EndpointState[];
}

/** The state of a policy and of everything below it, as plain JSON. */
export interface PolicyState extends PolicyParts {
  /** The name of the policy. */
  readonly policy: string;
  readonly state: StateName;
  /** Why picks fail, in TRANSIENT_FAILURE. */
  readonly error?: string;
}

/** The state of a named child. */
export interface ChildState extends PolicyState {
  /** The name of the child; absent for the only child of a policy. */
  readonly name?: string;
  /** Details that its parent knows, such as its weight, or whether it is in use. */
  readonly role?: StateDetails;
}

/** Changes the endpoints in the description of a policy and of those below it. */
export function mapEndpoints(
  policy: ChildState,
  map: (endpoint: EndpointState) => EndpointState,
): ChildState {
  const { children, endpoints } = policy;
  return {
    ...policy,
    ...(children && { children: children.map((child) => mapEndpoints(child, map)) }),
    ...(endpoints && { endpoints: endpoints.map(map) }),
  };
}

const STATE_NAMES: Readonly<Record<ConnectivityState, StateName>> = {
  [ConnectivityState.IDLE]: 'IDLE',
  [ConnectivityState.CONNECTING]: 'CONNECTING',
  [ConnectivityState.READY]: 'READY',
  [ConnectivityState.TRANSIENT_FAILURE]: 'TRANSIENT_FAILURE',
  [ConnectivityState.SHUTDOWN]: 'SHUTDOWN',
};

/** Returns the name of a connectivity state. */
export function stateName(state: ConnectivityState): StateName {
  return STATE_NAMES[state];
}

/** Why an endpoint fails, and since when in milliseconds since the epoch. */
export interface EndpointFailure {
  readonly error: string;
  /** Without addresses and times. */
  readonly cause: string;
  readonly sinceMs: number;
}

/** Describes an endpoint whose connection is in a state. */
export function describeEndpoint(
  { addresses, health, weight }: XdsEndpoint,
  state: ConnectivityState,
  failure: EndpointFailure | undefined,
  details?: StateDetails,
): EndpointState {
  return {
    addresses: addresses.map(formatAddress),
    state: stateName(state),
    ...(failure && {
      error: failure.error,
      cause: failure.cause,
      failingSince: toIso(failure.sinceMs),
    }),
    health,
    weight,
    ...(details !== undefined && { details }),
  };
}
