import type {
  EndpointState,
  PolicyState,
  ServerReport,
  ServerSnapshot,
  StateDetails,
} from 'grpc-xds';
import { type ClientSnapshot, rollUps } from 'grpc-xds/internal';
import { toIso } from '../../../../src/util/since';
import { quoteName, shortName } from '../../../../src/util/text';
import { UPDATE_REJECTED, type RejectedUpdate } from '../graph/control-plane-graph';
import { cellText } from '../live-page/view';

/** Something that is wrong now. */
export interface Fault {
  readonly text: string;
  /** Since when, as an ISO time; `undefined` where that is not known. */
  readonly since: string | undefined;
}

/** The endpoints of a cluster in one place that calls cannot use. */
export interface Trouble {
  readonly cluster: string;
  /** Empty without localities. */
  readonly locality: string;
  readonly failing: number;
  /** Those that count, as in a roll-up. None if the locality has no endpoint at all. */
  readonly of: number;
  /** The error of one of them, without its address. */
  readonly cause: string;
  /** Since when the first of them fails. */
  readonly since: string | undefined;
}

/** Faults that are listed. */
const MAX_FAULTS = 20;
/** Clusters of a place that are named. */
const MAX_CLUSTERS = 3;

/** A policy as its parent sees it. */
type Node = PolicyState & { readonly name?: string; readonly role?: StateDetails };

/** Finds the places of a target where endpoints fail, or where there is none. */
export function findTrouble(policies: PolicyState | undefined): readonly Trouble[] {
  const places = new Map<string, Place>();
  if (policies !== undefined) enter(policies, { cluster: '', locality: '', isInUse: true }, places);
  return [...places.values()].flatMap(({ cluster, locality, endpoints, error }) => {
    const all = [...endpoints.values()];
    const failing = all.filter((each) => rollUps.endpoint(each) === 'failing');
    const [first] = failing;
    if (first === undefined && (error === undefined || all.length > 0)) return [];
    const cause = first?.ejected === true ? 'ejected' : causeOf(first?.error ?? '');
    const since = failing.flatMap(({ failingSince }) => failingSince ?? []).sort()[0];
    return [{ cluster, locality, failing: failing.length, of: all.length, cause, since }];
  });
}

/** What a cluster has in a locality. */
interface Place extends Pick<Trouble, 'cluster' | 'locality'> {
  /** Those that count, by their first addresses: a cluster that is used in two ways has them twice. */
  readonly endpoints: Map<string, EndpointState>;
  /** Why the locality fails. */
  error: string | undefined;
}

function enter(
  policy: Node,
  parent: Pick<Trouble, 'cluster' | 'locality'> & { readonly isInUse: boolean },
  places: Map<string, Place>,
): void {
  const own = localityName(policy.name ?? '');
  const inside = {
    cluster: String(policy.details?.['cluster'] ?? parent.cluster),
    locality: own ?? parent.locality,
    isInUse: parent.isInUse && policy.role?.['inUse'] !== false,
  };
  if (own !== undefined || policy.endpoints !== undefined) {
    const place = placeIn(places, inside);
    if (own !== undefined && policy.state === 'TRANSIENT_FAILURE') place.error = policy.error ?? '';
    addEndpoints(place, policy.endpoints, inside.isInUse);
  }
  for (const child of policy.children ?? []) enter(child, inside, places);
}

function placeIn(
  places: Map<string, Place>,
  { cluster, locality }: Pick<Trouble, 'cluster' | 'locality'>,
): Place {
  const key = JSON.stringify([cluster, locality]);
  const known = places.get(key);
  if (known !== undefined) return known;
  const place = { cluster, locality, endpoints: new Map(), error: undefined };
  places.set(key, place);
  return place;
}

/** Adds those that count, as in a roll-up. */
function addEndpoints(place: Place, all: PolicyState['endpoints'], isInUse: boolean): void {
  for (const endpoint of all ?? []) {
    const isCounted = rollUps.endpoint(endpoint, isInUse) !== undefined;
    if (isCounted) place.endpoints.set(endpoint.addresses[0] ?? '', endpoint);
  }
}

/** Returns the text of each place, for a node of it, such as `2 of 3 endpoints fail`. */
export function countPlaces(all: readonly Trouble[]): ReadonlyMap<string, string> {
  return new Map([...groupPlaces(all)].map(([where, own]) => [where, countOf(own)]));
}

/** Returns one fault for each place, whatever clusters have endpoints in it, the largest first. */
export function placeFaults(all: readonly Trouble[]): readonly Fault[] {
  const places = [...groupPlaces(all)].map(([where, own]) => {
    const clusters = [...new Set(own.map(({ cluster }) => cluster))].filter(
      (each) => each !== where,
    );
    const named = clusters.slice(0, MAX_CLUSTERS).join(', ');
    const more =
      clusters.length > MAX_CLUSTERS ? ` and ${clusters.length - MAX_CLUSTERS} more` : '';
    const of = named === '' ? '' : ` (${named}${more})`;
    const cause = own.find((each) => each.cause !== '')?.cause ?? '';
    const since = own.flatMap((each) => each.since ?? []).sort()[0];
    const text = [`${where}${of}`, countOf(own), cause].filter((part) => part !== '').join(': ');
    return { text, since, size: own.reduce((sum, { failing }) => sum + failing, 0) };
  });
  return places.sort((a, b) => b.size - a.size);
}

function groupPlaces(all: readonly Trouble[]): ReadonlyMap<string, readonly Trouble[]> {
  const places = new Map<string, Trouble[]>();
  for (const each of all) {
    const where = each.locality || each.cluster;
    places.set(where, [...(places.get(where) ?? []), each]);
  }
  return places;
}

function countOf(own: readonly Trouble[]): string {
  const sum = (name: 'failing' | 'of') => own.reduce((total, each) => total + each[name], 0);
  const [failing, total] = [sum('failing'), sum('of')];
  return total === 0 ? 'no endpoints' : rollUps.describeFailing({ failing, total });
}

/** Returns the updates that a client has rejected, each with the reason, and whether an earlier version is in use. */
export function rejectedUpdates({
  resources,
}: Pick<ClientSnapshot, 'resources'>): readonly (RejectedUpdate & {
  readonly isKept: boolean;
  readonly since: string;
})[] {
  return resources.flatMap(({ typeUrl, name, accepted, failure }) => {
    if (failure?.violations === undefined) return [];
    const since = toIso(failure.sinceMs);
    const text = `${UPDATE_REJECTED}: ${failure.violations}`;
    return [{ type: shortName(typeUrl), name, text, since, isKept: accepted !== undefined }];
  });
}

/**
 * Returns what is wrong with the resources of a target.
 *
 * @param hasConfig Whether the target has a config: without one, its own failure says why.
 */
export function resourceFaults(
  snapshot: Pick<ClientSnapshot, 'resources'>,
  hasConfig: boolean,
): readonly Fault[] {
  const rejected = rejectedUpdates(snapshot).filter(({ isKept }) => isKept || hasConfig);
  const others = snapshot.resources.flatMap(({ accepted, failure }) =>
    failure === undefined ||
    failure.violations !== undefined ||
    (accepted === undefined && !hasConfig)
      ? []
      : [{ text: failure.details, since: toIso(failure.sinceMs) }],
  );
  return [
    ...rejected.map(({ type, name, text, since, isKept }) => {
      const kept = isKept ? '; the earlier version stays in use' : '';
      return { text: `${type} ${quoteName(name)}: ${text}${kept}`, since };
    }),
    ...others,
  ];
}

/** Returns what is wrong with the management servers. */
export function serverFaults(servers: readonly ServerSnapshot[]): readonly Fault[] {
  return servers.flatMap((server) => {
    const error = serverError(server);
    if (error === undefined) return [];
    return [
      { text: `Management server ${server.serverUri}: ${error}`, since: server.failingSince },
    ];
  });
}

/** Returns why a management server cannot be used; `undefined` if it can. */
export function serverError({ lastError, shortStreams }: ServerSnapshot): string | undefined {
  if (lastError !== undefined || shortStreams === 0) return lastError;
  return `ended ${shortStreams} streams soon after they opened`;
}

/** Returns the addresses of the process that are not served. */
export function addressFaults(servers: readonly ServerReport[]): readonly Fault[] {
  return servers.flatMap(({ address, state, reason = 'no reason is known', since }) =>
    state === 'SERVING' ? [] : [{ text: `${address} is not served: ${reason}`, since }],
  );
}

/** The cells of a row with its faults, each once. */
export function faultCells(all: readonly Fault[]): {
  readonly faults: readonly string[];
  /** In the same order; empty where it is not known. */
  readonly faultsSince: readonly string[];
  readonly moreFaults?: number;
} {
  const faults = [...new Map(all.map((fault) => [fault.text, fault])).values()];
  const listed = faults.slice(0, MAX_FAULTS);
  const more = faults.length - listed.length;
  return {
    faults: listed.map(({ text }) => cellText(text)),
    faultsSince: listed.map(({ since = '' }) => since),
    ...(more > 0 && { moreFaults: more }),
  };
}

/** Leaves the last cause of an error, without the address. */
function causeOf(error: string): string {
  const words = (error.split('Error: ').at(-1) ?? '').split(' ');
  return (words.at(-1)?.includes(':') === true ? words.slice(0, -1) : words).join(' ');
}

/** Shortens the name that a policy gives to a locality; `undefined` if it is none. */
function localityName(name: string): string | undefined {
  const locality = /^\{region="(.*)", zone="(.*)", sub_zone="(.*)"\}$/.exec(name)?.slice(1);
  return locality && (locality.filter((part) => part !== '').join('/') || '(no locality)');
}
