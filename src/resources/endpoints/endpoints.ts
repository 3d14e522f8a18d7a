import type { TypedBytes } from '../extension-points';
import type { JsonObject } from '../shared/extension-parser';
import { quoteName, quoteText } from '../../util/text';

/** A literal IP address and a port; the shape a grpc-js subchannel address has. */
export interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

/** Health according to the control plane. Endpoints in other states are left out (gRFCs A27, A55). */
export type HealthStatus = 'UNKNOWN' | 'HEALTHY' | 'DRAINING';

/** One backend, with all of its addresses, best first (gRFC A61). */
export interface XdsEndpoint {
  readonly addresses: readonly SocketAddress[];
  /** Relative to the other endpoints of the locality; at least 1. */
  readonly weight: number;
  readonly health: HealthStatus;
  /** For authority rewriting (gRFC A81); empty if none. */
  readonly hostname: string;
  /** For ring_hash (gRFC A76); `undefined` if none. */
  readonly hashKey: string | undefined;
  /** `noMetadata` if there is none. */
  readonly metadata: EndpointMetadata;
  /** The HTTP proxy in its metadata (gRFC A86); absent if there is none. */
  readonly proxy?: SocketAddress;
}

/** The endpoints of one locality within one priority. */
export interface LocalityEndpoints {
  readonly locality: Locality;
  /** Relative to the other localities of the priority; at least 1. */
  readonly weight: number;
  /** May be empty: the locality is unreachable. */
  readonly endpoints: readonly XdsEndpoint[];
  /** How many endpoints are DRAINING (gRFC A55); absent where they were not counted. */
  readonly draining?: number | undefined;
  /** The resource that has the endpoints instead, if there is one (gRFC A95). */
  readonly collection?: string;
  /** The HTTP proxy of the endpoints that have none of their own (gRFC A86); absent if there is none. */
  readonly proxy?: SocketAddress;
}

/** The localities that share a priority. */
export interface PriorityEndpoints {
  readonly localities: readonly LocalityEndpoints[];
}

/** A category of calls to drop (EDS `policy.drop_overloads`). */
export interface DropCategory {
  readonly category: string;
  /** Calls dropped per million, 0 to 1,000,000. */
  readonly perMillion: number;
}

/**
 * A validated ClusterLoadAssignment. An update keeps the identity of every priority, locality and
 * endpoint object that did not change.
 */
export interface EndpointsResource {
  readonly clusterName: string;
  /** Contiguous; priority 0 first. Empty: the cluster is unreachable. */
  readonly priorities: readonly PriorityEndpoints[];
  /** In order of evaluation. */
  readonly drops: readonly DropCategory[];
  /** How many endpoints have an address that was left out, because this client cannot use it; absent if none. */
  readonly unusableEndpoints?: number | undefined;
  /** How many endpoints have which health, where none can be used because of it; absent otherwise. */
  readonly unhealthyEndpoints?: ReadonlyMap<string, number> | undefined;
  /** How many localities with endpoints were left out, because they have no weight at all; absent if none. */
  readonly localitiesWithoutWeight?: number | undefined;
}

/** The metadata of an endpoint (EDS `LbEndpoint.metadata`), for policies. */
export interface EndpointMetadata {
  /** JSON objects, by the name of their recipient, such as `envoy.lb`. */
  readonly filterMetadata: ReadonlyMap<string, JsonObject>;
  /** Messages, undecoded, by the name of their recipient. */
  readonly typedFilterMetadata: ReadonlyMap<string, TypedBytes>;
}

/** The metadata of every endpoint that has none: one object, to save memory. */
export const noMetadata: EndpointMetadata = {
  filterMetadata: new Map(),
  typedFilterMetadata: new Map(),
};

/** The region, zone and sub-zone of endpoints, each possibly empty. */
export interface Locality {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
}

/** Returns the text form of a locality, unique per locality (gRFC A78): `{region="r", zone="z", sub_zone="s"}`. */
export function localityName(locality: Locality): string {
  const quote = (text: string) => JSON.stringify(text);
  return `{region=${quote(locality.region)}, zone=${quote(locality.zone)}, sub_zone=${quote(locality.subZone)}}`;
}

/** Describes a locality for a message: as {@link localityName}, with its texts cut. */
export function describeLocality({ region, zone, subZone }: Locality): string {
  return `{region=${quoteText(region)}, zone=${quoteText(zone)}, sub_zone=${quoteText(subZone)}}`;
}

/** Returns a text that is the same for equal localities only. Takes a fraction of the time of `localityName`. */
export function localityKey({ region, zone, subZone }: Locality): string {
  return `${region.length} ${zone.length} ${region}${zone}${subZone}`;
}

/** Endpoints of one locality, as a resource of their own (gRFC A95). */
export interface EndpointCollection {
  /** Empty: the locality is unreachable. */
  readonly endpoints: readonly XdsEndpoint[];
  /** As in `EndpointsResource`. */
  readonly unusableEndpoints?: number | undefined;
}

/** Describes the addresses that were left out of a resource; `undefined` if none was. */
export function describeUnusable(count: number | undefined): string | undefined {
  if (count === undefined) return undefined;
  const subject = count === 1 ? '1 endpoint has' : `${count} endpoints have`;
  return `${subject} an address of a kind that this client cannot use (unix socket or internal listener), skipped`;
}

/** Describes what was left out of an assignment although it was probably meant to be used; `undefined` if nothing was. */
export function describeSkippedEndpoints({
  clusterName,
  localitiesWithoutWeight,
  unhealthyEndpoints,
  unusableEndpoints,
}: SkippedEndpoints): string | undefined {
  const texts: string[] = [];
  if (unhealthyEndpoints !== undefined)
    texts.push(describeUnhealthy(clusterName, unhealthyEndpoints));
  if (localitiesWithoutWeight) texts.push(describeWithoutWeight(localitiesWithoutWeight));
  const unusable = describeUnusable(unusableEndpoints);
  if (unusable !== undefined) texts.push(unusable);
  return texts.length === 0 ? undefined : texts.join('; ');
}

/** Calls a function with each endpoint of an assignment, in the order of priorities and localities. */
export function forEachEndpoint(
  { priorities }: Pick<EndpointsResource, 'priorities'>,
  act: (endpoint: XdsEndpoint, locality: LocalityEndpoints) => void,
): void {
  for (const { localities } of priorities) {
    for (const locality of localities) {
      for (const endpoint of locality.endpoints) act(endpoint, locality);
    }
  }
}

/**
 * Describes an assignment without endpoints, as its management server has sent it; `undefined` if any locality has one.
 */
export function describeEmptyLocalities({
  clusterName,
  priorities,
}: Pick<EndpointsResource, 'clusterName' | 'priorities'>): string | undefined {
  let count = 0;
  for (const { localities } of priorities) {
    for (const { endpoints } of localities) if (endpoints.length > 0) return undefined;
    count += localities.length;
  }
  const fact =
    count === 0
      ? 'it has no localities'
      : count === 1
        ? 'its only locality has no endpoint'
        : `none of its ${count} localities has an endpoint`;
  return (
    `ClusterLoadAssignment ${quoteName(clusterName)}: ${fact}: ` +
    'check that its backends run, and that the server knows them'
  );
}

type SkippedEndpoints = Pick<
  EndpointsResource,
  'clusterName' | 'localitiesWithoutWeight' | 'unhealthyEndpoints' | 'unusableEndpoints'
>;

function describeWithoutWeight(count: number): string {
  const subject = count === 1 ? '1 locality has' : `${count} localities have`;
  return `${subject} no load_balancing_weight, so ${count === 1 ? 'its' : 'their'} endpoints are not used: set it`;
}

function describeUnhealthy(name: string, byHealth: ReadonlyMap<string, number>): string {
  let total = 0;
  for (const count of byHealth.values()) total += count;
  const counts = Array.from(byHealth, ([health, count]) => `${count} ${health}`).join(', ');
  const subject = total === 1 ? 'its only endpoint' : `none of its ${total} endpoints`;
  const verb = total === 1 ? 'cannot' : 'can';
  return `ClusterLoadAssignment ${quoteName(name)}: ${subject} ${verb} be used because of its health_status (${counts})`;
}

/** Describes that an assignment or a collection has more endpoints than it may. */
export function tooManyEndpoints(max: number): string {
  return `exceed the limit maxEndpointsPerAssignment of ${max}`;
}
