import type { EndpointState, PolicyState } from 'grpc-xds';
import { rollUps } from 'grpc-xds/internal';
import { cellText } from '../live-page/view';
import { localityName } from './topology';

/** The endpoints of one place that calls cannot use. */
export interface Trouble {
  /** Their locality, or else their cluster. */
  readonly where: string;
  readonly failing: number;
  readonly of: number;
  /** The error of one of them, without its address. */
  readonly cause: string;
  /** Since when the first of them fails, as an ISO time; absent where that is not known. */
  readonly since: string | undefined;
}

/** Places that are named. */
const MAX_PLACES = 3;

/** Finds the places of a target where endpoints fail. */
export function findTrouble(policies: PolicyState | undefined): readonly Trouble[] {
  const places = new Map<string, EndpointState[]>();
  const walk = (policy: PolicyState & { readonly name?: string }, place: string) => {
    const { endpoints = [], children = [], details = {} } = policy;
    const own = localityName(policy.name ?? '') ?? `${details['cluster'] ?? place}`;
    const known = places.get(own) ?? [];
    places.set(own, known);
    for (const endpoint of endpoints) known.push(endpoint);
    for (const child of children) walk(child, own);
  };
  if (policies !== undefined) walk(policies, '');
  return [...places].flatMap(([where, endpoints]) => {
    const failing = endpoints.filter((each) => rollUps.endpoint(each) === 'failing');
    const [first] = failing;
    if (first === undefined) return [];
    const times = failing.flatMap(({ failingSince }) => failingSince ?? []).sort();
    const cause = first.ejected === true ? 'ejected' : causeOf(first.error ?? '');
    return [{ where, failing: failing.length, of: endpoints.length, cause, since: times[0] }];
  });
}

/** Joins the trouble of several targets by its places: the largest first. */
export function joinTrouble(all: readonly Trouble[]): readonly Trouble[] {
  const joined = new Map<string, Trouble>();
  for (const each of all) {
    const known = joined.get(each.where);
    joined.set(
      each.where,
      known === undefined
        ? each
        : {
            ...known,
            failing: known.failing + each.failing,
            of: known.of + each.of,
            since: [known.since, each.since].filter((time) => time !== undefined).sort()[0],
          },
    );
  }
  return [...joined.values()].sort((a, b) => b.failing - a.failing);
}

/**
 * The cells of a row that say where endpoints fail, and since when.
 *
 * @param failingSince Since when there is no config. Default: there is one.
 */
export function troubleCells(
  all: readonly Trouble[],
  failingSince?: string,
): {
  readonly where?: readonly string[];
  readonly since?: string;
} {
  if (all.length === 0) return failingSince === undefined ? {} : { since: failingSince };
  const texts = all.slice(0, MAX_PLACES).map(({ where, failing, of, cause }) => {
    const noun = of === 1 ? 'endpoint' : 'endpoints';
    const counted = `${failing} of ${of} ${noun} ${failing === 1 ? 'fails' : 'fail'}`;
    return cellText([where, counted, cause].filter((part) => part !== '').join(': '));
  });
  const more = all.length > MAX_PLACES ? [`and ${all.length - MAX_PLACES} more places`] : [];
  const [since] = all.flatMap((each) => each.since ?? []).sort();
  return { where: [...texts, ...more], ...(since !== undefined && { since }) };
}

/** Leaves the last cause of an error, without the address. */
export function causeOf(error: string): string {
  const words = (error.split('Error: ').at(-1) ?? '').split(' ');
  return (words.at(-1)?.includes(':') === true ? words.slice(0, -1) : words).join(' ');
}
