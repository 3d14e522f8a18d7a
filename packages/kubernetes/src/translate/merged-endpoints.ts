import type {
  EndpointSliceObject,
  NodeObject,
  ServiceObject,
  ServicePort,
  SliceEndpoint,
} from '../objects';

/** An endpoint of a port. A pod of which slices of two families have an address each is one endpoint (gRFC A61). */
export interface MergedEndpoint {
  /** IP addresses; the first is of the first family of the service. */
  readonly addresses: readonly [string, ...string[]];
  readonly port: number;
  /** Otherwise it is draining: it serves, and terminates. */
  readonly isReady: boolean;
  /** '' if it is not known; the same holds for the zone. */
  readonly region: string;
  readonly zone: string;
  readonly nodeName: string | undefined;
  /** The zones and nodes whose callers are to use it; empty without hints. */
  readonly forZones: readonly string[];
  readonly forNodes: readonly string[];
}

/** An endpoint with a name instead of addresses. */
export interface NamedEndpoint {
  readonly host: string;
  readonly port: number;
}

/** An endpoint of a slice, with the port that it has there. */
interface ListedEndpoint {
  readonly endpoint: SliceEndpoint;
  readonly port: number;
  readonly family: 'IPv4' | 'IPv6';
  readonly isReady: boolean;
}

/**
 * Returns the endpoints of a port, sorted. An endpoint that several slices have, as they do while they are rewritten, is one, with
 * the best of its conditions. Those that are neither ready nor serve while they terminate are left out.
 *
 * @param nodes By name.
 */
export function mergeEndpoints(
  service: ServiceObject,
  port: ServicePort,
  slices: readonly EndpointSliceObject[],
  nodes: ReadonlyMap<string, NodeObject>,
): readonly MergedEndpoint[] {
  const addresses = new Map<string, ListedEndpoint>();
  const families = new Set<string>();
  for (const slice of slices) {
    families.add(slice.addressType);
    for (const listed of listEndpoints(service, port, slice)) {
      const key = `${listed.endpoint.address} ${listed.port}`;
      const known = addresses.get(key);
      if (known === undefined || (listed.isReady && !known.isReady)) addresses.set(key, listed);
    }
  }
  const [first = 'IPv4'] = service.ipFamilies;
  const isDual = families.has('IPv4') && families.has('IPv6');
  const merged = isDual
    ? groupByPod(addresses).map((pod) => mergePod(pod, first, nodes))
    : Array.from(addresses.values(), (listed) => toMerged(listed, undefined, nodes));
  return merged.sort(compareEndpoints);
}

/** Returns the endpoints of slices with names instead of addresses that are ready, sorted. */
export function listNames(
  service: ServiceObject,
  port: ServicePort,
  slices: readonly EndpointSliceObject[],
): readonly NamedEndpoint[] {
  const names = new Map<string, NamedEndpoint>();
  for (const slice of slices) {
    if (slice.addressType !== 'FQDN') continue;
    for (const number of portsIn(slice, port)) {
      for (const { address: host, isReady } of slice.endpoints) {
        if (isReady || service.publishesNotReady)
          names.set(`${host}:${number}`, { host, port: number });
      }
    }
  }
  return [...names].sort(([a], [b]) => compareTexts(a, b)).map(([, name]) => name);
}

/** Compares by code units, so that the order is the same in any locale. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function listEndpoints(
  service: ServiceObject,
  port: ServicePort,
  slice: EndpointSliceObject,
): readonly ListedEndpoint[] {
  const { addressType: family } = slice;
  if (family === 'FQDN') return [];
  const found: ListedEndpoint[] = [];
  for (const number of portsIn(slice, port)) {
    for (const endpoint of slice.endpoints) {
      const isReady = endpoint.isReady || service.publishesNotReady;
      if (!isReady && !(endpoint.isServing && endpoint.isTerminating)) continue;
      found.push({ endpoint, port: number, family, isReady });
    }
  }
  return found;
}

/** Returns the numbers that a port has in a slice: by its name, which is that of the port of the service. */
function portsIn({ ports }: EndpointSliceObject, { name, port }: ServicePort): readonly number[] {
  return ports.flatMap((each) =>
    each.name === name && each.protocol === 'TCP' ? [each.port ?? port] : [],
  );
}

type Pod = readonly [ListedEndpoint, ListedEndpoint?];

/** Groups the addresses of a pod: at most one of each family, since clients try them one after the other. */
function groupByPod(addresses: ReadonlyMap<string, ListedEndpoint>): readonly Pod[] {
  const pods: Pod[] = [];
  const single = new Map<string, { readonly index: number; readonly listed: ListedEndpoint }>();
  for (const listed of addresses.values()) {
    const key = listed.endpoint.targetUid && `${listed.endpoint.targetUid} ${listed.port}`;
    const other = key === undefined ? undefined : single.get(key);
    if (other !== undefined && other.listed.family !== listed.family) {
      pods[other.index] = [other.listed, listed];
      single.delete(`${key}`);
      continue;
    }
    if (key !== undefined) single.set(key, { index: pods.length, listed });
    pods.push([listed]);
  }
  return pods;
}

function mergePod(
  [one, other]: Pod,
  first: ListedEndpoint['family'],
  nodes: ReadonlyMap<string, NodeObject>,
): MergedEndpoint {
  return other?.family === first ? toMerged(other, one, nodes) : toMerged(one, other, nodes);
}

/** @param second The other address of its pod. */
function toMerged(
  { endpoint, port, isReady }: ListedEndpoint,
  second: ListedEndpoint | undefined,
  nodes: ReadonlyMap<string, NodeObject>,
): MergedEndpoint {
  const { address, nodeName, zone, forZones, forNodes } = endpoint;
  const node = nodeName === undefined ? undefined : nodes.get(nodeName);
  return {
    addresses: second === undefined ? [address] : [address, second.endpoint.address],
    port,
    isReady: isReady || second?.isReady === true,
    region: node?.region ?? '',
    zone: zone ?? node?.zone ?? '',
    nodeName,
    forZones,
    forNodes,
  };
}

function compareEndpoints(a: MergedEndpoint, b: MergedEndpoint): number {
  return compareTexts(a.addresses[0], b.addresses[0]) || a.port - b.port;
}
