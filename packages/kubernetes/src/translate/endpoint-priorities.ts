import type { Audience } from './audience';
import { compareTexts, type MergedEndpoint } from './merged-endpoints';
import { findZoneShares } from './zone-shares';

/** Which endpoints of a service callers prefer. */
export interface EndpointPreferences {
  readonly distribution: 'PreferSameZone' | 'PreferSameNode' | undefined;
  /** Whether callers use the endpoints of their own node only. */
  readonly isNodeLocal: boolean;
  /** See `findZoneShares`. */
  readonly maxZoneOverloadPercent: number;
  /** Whether all endpoints of a priority are in one locality, as a ring needs them to have equal parts of it. */
  readonly isUndivided: boolean;
}

/** An endpoint as callers of one audience receive it. */
export interface PlacedEndpoint {
  readonly endpoint: MergedEndpoint;
  /** Whether it takes new calls. */
  readonly isUsed: boolean;
}

/** The endpoints of one locality and priority. At least one of them takes new calls. */
export interface WeightedLocality {
  readonly region: string;
  readonly zone: string;
  readonly subZone: string;
  readonly weight: number;
  readonly endpoints: readonly PlacedEndpoint[];
}

/** The localities of one priority, sorted. */
export type Priority = readonly WeightedLocality[];

/**
 * Returns the priorities of the endpoints for callers of an audience. Endpoints of the caller's node are before those of its zone,
 * and those before all others, as far as the service prefers them. Without a preference each endpoint has the same part of the
 * calls: the weight of a locality is how many there are. Endpoints that are draining take new calls only if all are.
 */
export function prioritize(
  endpoints: readonly MergedEndpoint[],
  preferences: EndpointPreferences,
  audience: Pick<Audience, 'zone' | 'nodeName'>,
): readonly Priority[] {
  const { maxZoneOverloadPercent, isUndivided } = preferences;
  const { zone = '', nodeName = '' } = audience;
  const placed = place(endpoints, preferences, audience);
  const used = placed.filter(({ isUsed }) => isUsed).map(({ endpoint }) => endpoint);
  const { zonesOf, nodesOf } = readHints(used, preferences);
  const [own, others] = split(placed, (endpoint) => nodesOf(endpoint).includes(nodeName));
  const shareOf = isUndivided
    ? undefined
    : findZoneShares(zone, used, zonesOf, maxZoneOverloadPercent);
  const isNear = (endpoint: MergedEndpoint) =>
    shareOf === undefined ? zonesOf(endpoint).includes(zone) : shareOf(endpoint) > 0;
  const [near, far] = split(others, isNear);
  const grouping = isUndivided ? () => NOWHERE : locate;
  return [
    toLocalities(own, (each) => ({ ...grouping(each), subZone: nodeName }), one),
    toLocalities(near, grouping, shareOf ?? one),
    toLocalities(far, grouping, one),
  ].filter((localities) => localities.length > 0);
}

type Locality = Pick<WeightedLocality, 'region' | 'zone' | 'subZone'>;

const NOWHERE: Locality = { region: '', zone: '', subZone: '' };
const one = () => 1;

function locate({ region, zone }: MergedEndpoint): Locality {
  return { region, zone, subZone: '' };
}

/** Returns the endpoints that callers may use, and which of them take new calls. */
function place(
  endpoints: readonly MergedEndpoint[],
  { isNodeLocal }: EndpointPreferences,
  { nodeName }: Pick<Audience, 'nodeName'>,
): readonly PlacedEndpoint[] {
  const usable = isNodeLocal
    ? endpoints.filter((each) => nodeName !== undefined && each.nodeName === nodeName)
    : endpoints;
  const isDraining = !usable.some(({ isReady }) => isReady);
  return usable.map((endpoint) => ({ endpoint, isUsed: isDraining || endpoint.isReady }));
}

/**
 * Returns the zones and nodes whose callers prefer an endpoint: those of its hints, and without hints its own, if the service
 * prefers them. As with kube-proxy, hints alone count only if each endpoint has one.
 */
function readHints(
  used: readonly MergedEndpoint[],
  { distribution }: Pick<EndpointPreferences, 'distribution'>,
) {
  const hasZones = distribution !== undefined || used.every(({ forZones }) => forZones.length > 0);
  const hasNodes =
    distribution === 'PreferSameNode' || used.every(({ forNodes }) => forNodes.length > 0);
  return {
    zonesOf: ({ forZones, zone }: MergedEndpoint): readonly string[] => {
      if (!hasZones || forZones.length > 0) return hasZones ? forZones : [];
      return zone === '' ? [] : [zone];
    },
    nodesOf: ({ forNodes, nodeName = '' }: MergedEndpoint): readonly string[] => {
      if (!hasNodes || forNodes.length > 0) return hasNodes ? forNodes : [];
      return nodeName === '' ? [] : [nodeName];
    },
  };
}

function split(
  placed: readonly PlacedEndpoint[],
  isFirst: (endpoint: MergedEndpoint) => boolean,
): readonly [PlacedEndpoint[], PlacedEndpoint[]] {
  const parts: [PlacedEndpoint[], PlacedEndpoint[]] = [[], []];
  for (const each of placed) parts[isFirst(each.endpoint) ? 0 : 1].push(each);
  return parts;
}

/** Groups endpoints by locality. A locality of which none takes new calls is left out: clients have no use for it. */
function toLocalities(
  placed: readonly PlacedEndpoint[],
  localityOf: (endpoint: MergedEndpoint) => Locality,
  weightOf: (endpoint: MergedEndpoint) => number,
): Priority {
  const groups = new Map<string, Locality & { weight: number; endpoints: PlacedEndpoint[] }>();
  for (const each of placed) {
    const locality = localityOf(each.endpoint);
    const key = `${locality.region}\n${locality.zone}`;
    let group = groups.get(key);
    if (group === undefined) {
      group = { ...locality, weight: 0, endpoints: [] };
      groups.set(key, group);
    }
    group.endpoints.push(each);
    if (each.isUsed) group.weight += weightOf(each.endpoint);
  }
  return [...groups]
    .filter(([, { weight }]) => weight > 0)
    .sort(([a], [b]) => compareTexts(a, b))
    .map(([, group]) => ({ ...group, weight: Math.max(1, Math.round(group.weight)) }));
}
