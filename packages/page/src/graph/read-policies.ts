import type { ChildState, EndpointState, PolicyState } from 'grpc-xds';

/** How deep policies are nested at most; what is deeper is left out. Those of this package are 12 deep. */
const MAX_DEPTH = 64;

/** The policy, or child of a policy, in a report. */
type Json = Readonly<Record<string, unknown>>;

/** Reads the policies of a report, such as one of a file, which may have anything. @returns undefined if there are none. */
export function readPolicies(json: unknown): PolicyState | undefined {
  return isObject(json) ? readPolicy(json, 0) : undefined;
}

function readPolicy(json: Json, depth: number): ChildState {
  const { policy, name, role, details, error } = json;
  return {
    policy: textOf(policy),
    state: stateOf(json['state']),
    ...(typeof error === 'string' && { error }),
    ...(typeof name === 'string' && { name }),
    ...(isObject(role) && { role: detailsOf(role) }),
    ...(isObject(details) && { details: detailsOf(details) }),
    endpoints: listOf(json['endpoints']).map(readEndpoint),
    children:
      depth < MAX_DEPTH
        ? listOf(json['children']).map((child) => readPolicy(child, depth + 1))
        : [],
  };
}

function readEndpoint({
  addresses,
  state,
  error,
  health,
  failingSince,
  ejected,
}: Json): EndpointState {
  const texts: readonly unknown[] = Array.isArray(addresses) ? addresses : [];
  return {
    addresses: texts.filter((each) => typeof each === 'string'),
    state: stateOf(state),
    weight: 1,
    health: health === 'DRAINING' ? 'DRAINING' : 'UNKNOWN',
    ...(typeof error === 'string' && { error }),
    ...(typeof failingSince === 'string' && { failingSince }),
    ...(ejected === true && { ejected }),
  };
}

function stateOf(json: unknown): PolicyState['state'] {
  switch (json) {
    case 'READY':
    case 'CONNECTING':
    case 'TRANSIENT_FAILURE':
    case 'SHUTDOWN':
      return json;
    default:
      return 'IDLE';
  }
}

function detailsOf(json: Json): NonNullable<PolicyState['details']> {
  const known = new Map<string, string | number | boolean>();
  for (const [name, value] of Object.entries(json)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      known.set(name, value);
    }
  }
  return Object.fromEntries(known);
}

function listOf(json: unknown): readonly Json[] {
  return Array.isArray(json) ? json.filter(isObject) : [];
}

function textOf(json: unknown): string {
  return typeof json === 'string' ? json : '';
}

function isObject(json: unknown): json is Json {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
