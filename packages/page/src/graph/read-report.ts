import type { ChildState, EndpointState, PolicyState } from 'grpc-xds';
import { listAt, numberAt, valueAt } from '../../../../src/util/value-at';
import type { GraphManagementServer, GraphProcess, GraphShare } from './control-plane-graph';

// Reads parts of a report, such as one of a file, which may have anything.

/** How deep policies are nested at most; what is deeper is left out. Those of this package are 12 deep. */
const MAX_DEPTH = 64;

type Json = Readonly<Record<string, unknown>>;

const STATES: readonly PolicyState['state'][] = [
  'READY',
  'CONNECTING',
  'TRANSIENT_FAILURE',
  'SHUTDOWN',
];

/** Reads the policies of a channel. @returns undefined if there are none. */
export function readPolicies(json: unknown): PolicyState | undefined {
  return isObject(json) ? readPolicy(json, 0) : undefined;
}

function readPolicy(json: unknown, depth: number): ChildState {
  const [role, details] = [valueAt(json, 'role'), valueAt(json, 'details')];
  const children = depth < MAX_DEPTH ? listAt(json, 'children').filter(isObject) : [];
  return {
    policy: textAt(json, 'policy'),
    state: stateAt(json),
    ...textsAt(json, 'error', 'name'),
    ...(isObject(role) && { role: readDetails(role) }),
    ...(isObject(details) && { details: readDetails(details) }),
    endpoints: listAt(json, 'endpoints').filter(isObject).map(readEndpoint),
    children: children.map((child) => readPolicy(child, depth + 1)),
  };
}

function readEndpoint(json: Json): EndpointState {
  return {
    addresses: listAt(json, 'addresses').filter((each) => typeof each === 'string'),
    state: stateAt(json),
    weight: 1,
    health: valueAt(json, 'health') === 'DRAINING' ? 'DRAINING' : 'UNKNOWN',
    ...textsAt(json, 'error', 'failingSince'),
    ...(valueAt(json, 'ejected') === true && { ejected: true }),
  };
}

function readDetails(json: Json): NonNullable<PolicyState['details']> {
  const known = new Map<string, string | number | boolean>();
  for (const [name, value] of Object.entries(json)) {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      known.set(name, value);
    }
  }
  return Object.fromEntries(known);
}

function stateAt(json: unknown): PolicyState['state'] {
  return STATES.find((each) => each === valueAt(json, 'state')) ?? 'IDLE';
}

/** Reads what a process has the resources of a target from. @returns undefined if the report does not say. */
export function readProcess(report: unknown, target: string): GraphProcess | undefined {
  const pid = valueAt(report, 'pid');
  const own = listAt(report, 'targets').find((each) => valueAt(each, 'target') === target);
  if (typeof pid !== 'number' || own === undefined) return undefined;
  return {
    pid,
    nodeId: textAt(own, 'nodeId'),
    version: textAt(report, 'version'),
    servers: listAt(own, 'servers').map(readServer),
    shares: listAt(report, 'shares').map(readShare),
  };
}

function readServer(json: unknown): GraphManagementServer {
  return {
    serverUri: textAt(json, 'serverUri'),
    state: textAt(json, 'state'),
    ...textsAt(json, 'lastError', 'failingSince'),
    ...numbersAt(json, 'retryInMs'),
    shortStreams: numberAt(json, 'shortStreams'),
  };
}

function readShare(json: unknown): GraphShare {
  return {
    address: textAt(json, 'address'),
    upstream: textAt(json, 'upstream'),
    state: textAt(json, 'state'),
    role: textAt(json, 'role'),
    takeovers: numberAt(json, 'takeovers'),
    ...textsAt(json, 'reason', 'since'),
    ...numbersAt(json, 'pid', 'clients'),
  };
}

function textAt(json: unknown, name: string): string {
  const value = valueAt(json, name);
  return typeof value === 'string' ? value : '';
}

function textsAt<Name extends string>(json: unknown, ...names: readonly Name[]) {
  return membersAt(json, names, (value) => typeof value === 'string');
}

function numbersAt<Name extends string>(json: unknown, ...names: readonly Name[]) {
  return membersAt(json, names, (value) => typeof value === 'number');
}

/** Returns those of the members that are of a type. */
function membersAt<Name extends string, T>(
  json: unknown,
  names: readonly Name[],
  isOfType: (value: unknown) => value is T,
): Partial<Record<Name, T>> {
  const members: Partial<Record<Name, T>> = {};
  for (const name of names) {
    const value = valueAt(json, name);
    if (isOfType(value)) members[name] = value;
  }
  return members;
}

function isObject(json: unknown): json is Json {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
