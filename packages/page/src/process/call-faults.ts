import type { EndpointState, PolicyState } from 'grpc-xds';
import type { RateColumns, ReadRates } from 'grpc-xds/internal';
import { placesOf, type EndpointPlace } from '../../../../src/util/endpoint-counts';
import { flawOfCalls, number, percentFailing, worstFlaw } from '../graph/words';
import { groupBy } from '../graph/group-by';
import { cellText, type Row } from '../live-page/view';
import type { Fault } from './faults';

// Finds calls that fail although their connections are ready.

/** The columns of a row that say how many of its calls fail. */
export type FailureColumns = Pick<
  RateColumns,
  'rate' | 'errorRate' | 'errors' | 'counts' | 'failingSince'
>;

/** Calls that fail in one place. */
export interface CallFault extends Fault {
  /** Such as `eu/a (shop), 10.0.0.1:80`. */
  readonly where: string;
}

/** A place with its failed calls or attempts. */
interface FailingPlace {
  readonly where: string;
  readonly columns: FailureColumns;
}

/** Where calls of a target may fail. */
interface Counted {
  readonly rates: Pick<
    ReadRates,
    'failingClusters' | 'failingAddresses' | 'ofClusters' | 'ofEndpoints'
  >;
  readonly policies: PolicyState | undefined;
}

/** A place has the failures of a larger one if it has this part of them: rates are rounded. */
const ALL = 0.99;
/** The same for attempts and the calls that they belong to: a call may end in the second after its attempt. */
const ALL_CALLS = 0.9;

/**
 * Finds where the calls of a target fail: for each cluster, the smallest place that contains all failed attempts, the place with the most
 * failures first. Calls that fail before they reach an endpoint are listed under the name of the target.
 *
 * @param failures How many calls of the target fail.
 * @param counted Undefined for calls to the servers of the process.
 */
export function findCallFaults(
  name: string,
  failures: FailureColumns,
  counted: Counted | undefined,
): readonly CallFault[] {
  const places = counted === undefined ? [] : findPlaces(counted);
  const failed = places.reduce((sum, { columns }) => sum + columns.errorRate, 0);
  const isRetried = percentFailing(failures) === 0;
  const faults = places.map((place) => toFault(place, isRetried ? ', retries hide them' : ''));
  const whole = { where: name, columns: failures };
  // More attempts than calls have failed: some were retried, and nobody knows which.
  if (!isRetried && failed * ALL_CALLS > failures.errorRate) return [toFault(whole), ...faults];
  if (failed >= failures.errorRate * ALL_CALLS) return faults;
  if (counted === undefined) return [toFault(whole)];
  const note = faults.length === 0 ? 'none of them at an endpoint' : 'not all of them there';
  return [...faults, toFault(whole, `, ${note}`)];
}

function findPlaces({ rates, policies }: Counted): readonly FailingPlace[] {
  const clusters = rates.failingClusters();
  if (clusters.length === 0) return [];
  const places = policies === undefined ? [] : placesOf<EndpointState>(policies);
  const byCluster = groupBy(places, ({ cluster }) => cluster);
  return clusters
    .flatMap((cluster) => findPlace(cluster, byCluster.get(cluster) ?? [], rates) ?? [])
    .sort((a, b) => b.columns.errorRate - a.columns.errorRate);
}

/** Returns the smallest place that contains all failed attempts of a cluster; `undefined` if none has failed. */
function findPlace(
  cluster: string,
  places: readonly EndpointPlace<EndpointState>[],
  rates: Counted['rates'],
): FailingPlace | undefined {
  const columns = rates.ofClusters([cluster]);
  if (columns === undefined || percentFailing(columns) === 0) return undefined;
  const whole = { where: cluster, columns };
  const failing = [...groupBy(places, ({ locality = '' }) => locality)]
    .map(([locality, own]) => {
      const all = [...new Set(own.flatMap(({ endpoints = [] }) => endpoints).flatMap(addressesOf))];
      return { locality, all, failing: rates.failingAddresses(cluster, all) };
    })
    .filter((each) => each.failing.length > 0);
  const [first] = failing;
  if (first === undefined || failing.length > 1) return whole;
  const where = first.locality === '' ? cluster : `${first.locality} (${cluster})`;
  const locality = within(whole, where, rates.ofEndpoints(cluster, first.all));
  const [address = ''] = first.failing;
  if (locality === whole || first.failing.length > 1) return locality;
  return within(locality, `${where}, ${address}`, rates.ofEndpoints(cluster, [address]));
}

function addressesOf({ addresses }: EndpointState): readonly string[] {
  return addresses;
}

/** Returns the smaller place if it has all failures of the larger one. Removed endpoints may have had some of them. */
function within(
  place: FailingPlace,
  where: string,
  columns: FailureColumns | undefined,
): FailingPlace {
  const hasAll = columns !== undefined && columns.errorRate >= ALL * place.columns.errorRate;
  return hasAll ? { where, columns } : place;
}

function toFault({ where, columns }: FailingPlace, note = ''): CallFault {
  return {
    where,
    text: `${where}: ${describeFailing(columns)}${note}`,
    since: columns.failingSince,
  };
}

/** Says how many calls fail, such as `22 % of 12 calls/s fail (UNAVAILABLE 27)`. */
export function describeFailing(columns: FailureColumns): string {
  const { rate, errorRate, errors, counts } = columns;
  const statuses = errors.length === 0 ? '' : ` (${errors.join(', ')})`;
  // Long ones may fail while none starts.
  const failing =
    errorRate > rate
      ? `${number(errorRate)} ${counts}/s`
      : `${percentFailing(columns)} % of ${number(rate)} ${counts}/s`;
  return `${failing} fail${statuses}`;
}

/** Reads these columns of a row. Without them, no call fails. */
export function failuresOf({
  rate = 0,
  errorRate = 0,
  errors,
  counts,
  failingSince,
}: Partial<Row>): FailureColumns {
  return {
    rate: Number(rate),
    errorRate: Number(errorRate),
    errors: Array.isArray(errors) ? errors.map(String) : [],
    counts: counts === 'attempts' ? counts : 'calls',
    ...(typeof failingSince === 'string' && { failingSince }),
  };
}

/** Adds to the row of a node that its calls fail, unless its state is `failing` already. */
export function withCallFlaw(row: Row): Row {
  const failures = failuresOf(row);
  const own = row['state'] === 'failing' ? undefined : flawOfCalls(failures);
  if (own === undefined) return row;
  return {
    ...row,
    flaw: worstFlaw([own, row['flaw'] === undefined ? undefined : String(row['flaw'])]),
    cause: cellText(describeFailing(failures)),
    since: failures.failingSince,
  };
}
