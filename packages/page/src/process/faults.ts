import type { EndpointState, PolicyState, ServerReport, ServerSnapshot } from 'grpc-xds';
import { type ClientSnapshot, rollUps } from 'grpc-xds/internal';
import { placesOf, type EndpointPlace } from '../../../../src/util/endpoint-counts';
import { madeOnce } from '../../../../src/util/made-once';
import { toIso } from '../../../../src/util/since';
import { quoteName, shortName } from '../../../../src/util/text';
import { serverError, UPDATE_REJECTED } from '../graph/control-plane-graph';
import { groupBy } from '../graph/group-by';
import { findEjections, type ProcessEvent } from './events';
import type { GraphNode } from '../graph/mesh-graph';
import { counted, joinFirst } from '../graph/words';
import { cellText, type Row } from '../live-page/view';

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

/** What a locality without a name is called. */
const NO_LOCALITY = '(no locality)';
/** Faults that are listed. */
const MAX_FAULTS = 20;
/** Clusters of a place that are named. */
const MAX_CLUSTERS = 3;

/**
 * Finds the places of a target where endpoints fail, or where there is none.
 *
 * @param events Those of the process, which say since when an endpoint is ejected. Default: none is known.
 */
export function findTrouble(
  policies: PolicyState | undefined,
  events: readonly ProcessEvent[] = [],
): readonly Trouble[] {
  const ejectionOf = findEjections(events);
  const places = policies === undefined ? [] : findFailing(policies);
  return places.map(({ failing, ...place }) => {
    const [first] = failing;
    const cause = first?.ejected === true ? 'ejected by outlier detection' : (first?.cause ?? '');
    const sinceOf = (address = '') => {
      const ejection = ejectionOf(place.cluster, address);
      return ejection === undefined ? [] : toIso(ejection.atMs);
    };
    const [since] = failing
      .flatMap(({ failingSince, addresses: [address] }) => failingSince ?? sinceOf(address))
      .sort();
    return { ...place, failing: failing.length, cause, since };
  });
}

/** Finds them in policies, which are looked at once while they stay the same. */
const findFailing = madeOnce((policies: PolicyState) => {
  const places = placesOf<EndpointState>(policies);
  const grouped = groupBy(places, ({ cluster, locality }) => JSON.stringify([cluster, locality]));
  return [...grouped.values()].flatMap((own) => {
    const all = countedIn(own);
    const failing = all.filter((each) => rollUps.endpoint(each) === 'failing');
    const isEmpty = all.length === 0 && own.some(({ error }) => error !== undefined);
    const [place] = own;
    if (place === undefined || (failing.length === 0 && !isEmpty)) return [];
    const { cluster, locality: name = '' } = place;
    const locality = place.locality === '' ? NO_LOCALITY : name;
    return [{ cluster, locality, failing, of: all.length }];
  });
});

/** By their first addresses: a cluster that is used in two ways has them twice. */
function countedIn(own: readonly EndpointPlace<EndpointState>[]): readonly EndpointState[] {
  const counted = new Map<string | undefined, EndpointState>();
  for (const { endpoints = [], isInUse } of own)
    for (const each of endpoints)
      if (rollUps.endpoint(each, isInUse) !== undefined) counted.set(each.addresses[0], each);
  return [...counted.values()];
}

/** Returns the text of each place, for a node of it, such as `2 of 3 endpoints fail`. */
export function countPlaces(all: readonly Trouble[]): ReadonlyMap<string, string> {
  return new Map([...groupBy(all, whereOf)].map(([where, own]) => [where, countOf(own)]));
}

/** Returns one fault for each place, whatever clusters have endpoints in it, the largest first. */
export function placeFaults(all: readonly Trouble[]): readonly Fault[] {
  return joinPlaces(all).map(({ name, own }) => {
    const { cause, since } = reasonOf(own);
    return { text: [name, countOf(own), cause].filter((part) => part !== '').join(': '), since };
  });
}

/** Says of the largest place in which endpoints of these clusters fail how many still connect; `undefined` if none fails any more. */
export function describeLoss(
  clusters: readonly string[],
  all: readonly Trouble[],
): Fault | undefined {
  const [largest] = joinPlaces(all).filter(({ own }) =>
    own.some(({ cluster, of }) => of > 0 && clusters.includes(cluster)),
  );
  if (largest === undefined) return undefined;
  const { name, own } = largest;
  const of = sumOf(own, 'of');
  const left = of - sumOf(own, 'failing');
  return { text: `${name}: ${left} of ${counted(of, 'endpoint')} can be used`, ...reasonOf(own) };
}

/** Joins what is in one place, and names it with its clusters; the largest first. */
function joinPlaces(all: readonly Trouble[]) {
  const places = [...groupBy(all, whereOf)].map(([where, own]) => {
    const clusters = [...new Set(own.map(({ cluster }) => cluster))].filter(
      (each) => each !== where,
    );
    const of = clusters.length === 0 ? '' : ` (${joinFirst(clusters, MAX_CLUSTERS)})`;
    return { name: `${where}${of}`, own };
  });
  return places.sort((a, b) => sumOf(b.own, 'failing') - sumOf(a.own, 'failing'));
}

/** The cells of the row of a locality in a graph: why its endpoints fail, and since when. */
export function localityCells(
  { column, name, calls }: Pick<GraphNode, 'column' | 'name' | 'calls'>,
  all: readonly Trouble[],
): Omit<Row, 'id'> {
  if (column !== 'locality') return {};
  const own = all.filter(
    ({ locality, cluster }) =>
      (locality || NO_LOCALITY) === name && cluster === (calls?.cluster ?? cluster),
  );
  if (own.length === 0) return {};
  const { cause, since } = reasonOf(own);
  return { cause: cellText(cause), since };
}

/** Why endpoints fail, and since when the first of them does. */
function reasonOf(own: readonly Trouble[]): Pick<Trouble, 'cause' | 'since'> {
  const cause = own.find((each) => each.cause !== '')?.cause ?? '';
  const [since] = own.flatMap((each) => each.since ?? []).sort();
  return { cause, since };
}

function whereOf({ locality, cluster }: Trouble): string {
  return locality || cluster;
}

function countOf(own: readonly Trouble[]): string {
  const [failing, total] = [sumOf(own, 'failing'), sumOf(own, 'of')];
  return total === 0 ? 'no endpoints' : rollUps.describeFailing({ failing, total });
}

function sumOf(own: readonly Trouble[], name: 'failing' | 'of'): number {
  return own.reduce((total, each) => total + each[name], 0);
}

/** Returns the updates that a client has rejected, each with the reason, and whether an earlier version is in use. */
export const rejectedUpdates = madeOnce(({ resources }: Pick<ClientSnapshot, 'resources'>) =>
  resources.flatMap(({ typeUrl, name, accepted, failure }) => {
    if (failure?.violations === undefined) return [];
    const since = toIso(failure.sinceMs);
    const text = `${UPDATE_REJECTED}: ${failure.violations}`;
    return [{ type: shortName(typeUrl), name, text, since, isKept: accepted !== undefined }];
  }),
);

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

/** Returns the addresses of the process that are not served. */
export function addressFaults(servers: readonly ServerReport[]): readonly Fault[] {
  return servers.flatMap(({ address, state, reason = 'no reason is known', since }) =>
    state === 'SERVING' ? [] : [{ text: `${address} is not served: ${reason}`, since }],
  );
}

/** The cells of a row with its faults, each once, and since when they are; that is empty where it is not known. */
export function faultCells(all: readonly Fault[]): Omit<Row, 'id'> {
  const faults = [...new Map(all.map((fault) => [fault.text, fault])).values()];
  const listed = faults.slice(0, MAX_FAULTS);
  const more = faults.length - listed.length;
  return {
    faults: listed.map(({ text }) => cellText(text)),
    faultsSince: listed.map(({ since = '' }) => since),
    moreFaults: more > 0 ? more : undefined,
  };
}
