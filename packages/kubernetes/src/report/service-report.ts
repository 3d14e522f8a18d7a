import {
  type ClientState,
  clusterKind,
  endpointKind,
  listenerKind,
  routeKind,
} from 'grpc-xds/control-plane';
import type { ClusterObjects, ObjectKey } from '../cluster-objects';
import { listenerNames, clusterName } from '../names';
import type { ServiceObject, SliceEndpoint } from '../objects';
import type { PolicyProblem } from '../translate/service-policy';
import { reportText, type EndpointCounts, type KubernetesServiceReport } from './kubernetes-report';

const MAX_PORTS = 100;
const MAX_ZONES = 100;
const MAX_PROBLEMS = 20;

/** Which streams subscribe to which resources. */
export class Subscribers {
  private readonly byName = new Map<string, Set<number>>();
  private readonly wildcards = new Set<number>();

  constructor(clients: readonly ClientState[]) {
    for (const { streamId, types } of clients) {
      for (const { typeUrl, subscribed, wildcard } of types.values()) {
        if (!KINDS.has(typeUrl)) continue;
        if (wildcard) this.wildcards.add(streamId);
        for (const name of subscribed) {
          const streams = this.byName.get(name) ?? new Set();
          this.byName.set(name, streams.add(streamId));
        }
      }
    }
  }

  /** Returns how many streams subscribe to a resource of a Service. */
  count({ meta: { namespace, name }, ports }: ServiceObject, domain: string): number {
    const streams = new Set(this.wildcards);
    for (const { port } of ports) {
      const address = { namespace, name, port };
      for (const each of [clusterName(address, domain), ...listenerNames(address, domain)]) {
        for (const stream of this.byName.get(each) ?? []) streams.add(stream);
      }
    }
    return streams.size;
  }
}

const KINDS: ReadonlySet<string> = new Set(
  [listenerKind, routeKind, clusterKind, endpointKind].map(({ typeUrl }) => typeUrl),
);

/** What a report of a Service is read from. */
export interface ServiceReportInput {
  readonly objects: ClusterObjects;
  readonly problemsOf: (key: ObjectKey) => readonly PolicyProblem[];
  readonly subscribers: Subscribers;
  readonly domain: string;
}

/** Reports a Service. */
export function reportService(
  key: ObjectKey,
  service: ServiceObject,
  { objects, problemsOf, subscribers, domain }: ServiceReportInput,
): KubernetesServiceReport {
  const { namespace, name } = service.meta;
  const zones = countByZone(objects, key);
  return {
    namespace,
    name,
    type: service.type,
    ports: service.ports.slice(0, MAX_PORTS).map((port) => ({
      name: port.name,
      port: port.port,
      ...(port.appProtocol !== undefined && { appProtocol: reportText(port.appProtocol) }),
    })),
    endpoints: sumOf([...zones.values()]),
    zones: Array.from(zones, ([zone, counts]) => ({ zone: reportText(zone), ...counts })).slice(
      0,
      MAX_ZONES,
    ),
    problems: problemsOf(key)
      .slice(0, MAX_PROBLEMS)
      .map(({ annotation, message, inUse }) => ({
        annotation: annotation === undefined ? undefined : reportText(annotation),
        message: reportText(message),
        ...(inUse !== undefined && { inUse: reportText(inUse) }),
      })),
    clients: subscribers.count(service, domain),
  };
}

/** Counts endpoints, in the order of the names of their zones. */
function countByZone(objects: ClusterObjects, key: ObjectKey): ReadonlyMap<string, EndpointCounts> {
  const zones = new Map<string, EndpointCounts[]>();
  const counted = new Set<string>();
  for (const { endpoints } of objects.slicesOf(key)) {
    for (const endpoint of endpoints) {
      const id = endpoint.targetUid ?? endpoint.address;
      if (counted.has(id)) continue;
      counted.add(id);
      const node = objects.nodes.get(endpoint.nodeName ?? '');
      const zone = endpoint.zone ?? node?.zone ?? '';
      const counts = zones.get(zone) ?? [];
      counts.push(countOf(endpoint));
      zones.set(zone, counts);
    }
  }
  const sorted = [...zones].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(sorted.map(([zone, counts]) => [zone, sumOf(counts)]));
}

function countOf({ isReady, isServing, isTerminating }: SliceEndpoint): EndpointCounts {
  return {
    total: 1,
    ready: Number(isReady),
    serving: Number(isServing),
    terminating: Number(isTerminating),
  };
}

function sumOf(counts: readonly EndpointCounts[]): EndpointCounts {
  const sum = { total: 0, ready: 0, serving: 0, terminating: 0 };
  for (const { total, ready, serving, terminating } of counts) {
    sum.total += total;
    sum.ready += ready;
    sum.serving += serving;
    sum.terminating += terminating;
  }
  return sum;
}
