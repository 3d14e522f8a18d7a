import type { EndpointState, PolicyState } from 'grpc-xds';
import type { RateColumns, ReadRates } from 'grpc-xds/internal';
import { placesOf, type EndpointPlace } from '../../../../src/util/endpoint-counts';
import { flawOfCalls, percentFailing } from '../graph/words';
import { groupBy } from '../graph/group-by';
import { cellText, type Row } from '../live-page/view';
import type { Fault } from './faults';

// The calls that fail although the connections that they are on are ready.

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

/** Those in one place. */
interface FailingPlace {
  readonly where: string;
  readonly columns: FailureColumns;
}

/** Where calls of a target may fail. */
interface Counted {
  readonly rates: Pick<ReadRates, 'ofClusters' | 'ofEndpoints'>;
  readonly policies: PolicyState | undefined;
}

/**
 * Finds where the calls of a target fail: for each cluster, the smallest place that has all attempts that fail. The first is the one
 * where most do.
 *
 * @param name That of the target, which it is where calls fail that have not reached an endpoint.
 * @param failures Those of the target.
 * @param counted Undefined for the calls to the servers of the process.
 */
export function findCallFaults(
  name: string,
  failures: FailureColumns,
  counted: Counted | undefined,
): readonly CallFault[] {
  if (percentFailing(failures) === 0) return [];
  const whole = toFault({ where: name, columns: failures });
  if (counted === undefined) return [whole];
  const { rates, policies } = counted;
  const places = policies === undefined ? [] : placesOf<EndpointState>(policies);
  const clusters = groupBy(places, ({ cluster }) => cluster);
  const found = [...clusters].flatMap(([cluster, own]) => findPlace(cluster, own, rates) ?? []);
  if (found.length === 0) return [{ ...whole, text: `${whole.text}, none of them at an endpoint` }];
  return found.sort((a, b) => b.columns.errorRate - a.columns.errorRate).map(toFault);
}

/** Returns the smallest place of a cluster that has all of its attempts that fail; `undefined` if none does. */
function findPlace(
  cluster: string,
  places: readonly EndpointPlace<EndpointState>[],
  rates: Counted['rates'],
): FailingPlace | undefined {
  const whole = { where: cluster, columns: rates.ofClusters([cluster]) };
  if (!isFailing(whole)) return undefined;
  const at = (where: string, endpoints: readonly EndpointState[]) => {
    const addresses = new Set(endpoints.flatMap((each) => each.addresses));
    return { where, columns: rates.ofEndpoints(cluster, addresses) };
  };
  const localities = [...groupBy(places, ({ locality = '' }) => locality)]
    .map(([locality, own]) => {
      const endpoints = own.flatMap((place) => place.endpoints ?? []);
      return {
        endpoints,
        ...at(locality === '' ? cluster : `${locality} (${cluster})`, endpoints),
      };
    })
    .filter(isFailing);
  const [locality] = localities;
  if (locality === undefined || localities.length > 1) return whole;
  const endpoints = locality.endpoints
    .map((each) => at(`${locality.where}, ${each.addresses[0] ?? ''}`, [each]))
    .filter(isFailing);
  const [endpoint] = endpoints;
  return endpoint === undefined || endpoints.length > 1 ? locality : endpoint;
}

function isFailing<T extends { readonly columns: FailureColumns | undefined }>(
  place: T,
): place is T & FailingPlace {
  return place.columns !== undefined && percentFailing(place.columns) > 0;
}

function toFault({ where, columns }: FailingPlace): CallFault {
  return {
    where,
    text: `${where}: ${describeFailing(columns)}`,
    since: columns.failingSince,
  };
}

/** Says how many calls fail, such as `22 % of 12.3 calls/s fail (UNAVAILABLE 27)`. */
export function describeFailing(columns: FailureColumns): string {
  const { rate, errors, counts } = columns;
  const statuses = errors.length === 0 ? '' : ` (${errors.join(', ')})`;
  return `${percentFailing(columns)} % of ${Number(rate.toPrecision(3))} ${counts}/s fail${statuses}`;
}

/** Reads them; those of a row without any say that no call fails. */
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

/** Says in the row of a node that its calls fail; where no connection is ready, its state does. */
export function withCallFlaw(row: Row): Row {
  const failures = failuresOf(row);
  const flaw = row['state'] === 'failing' ? undefined : flawOfCalls(failures);
  if (flaw === undefined) return row;
  return {
    ...row,
    flaw,
    cause: cellText(describeFailing(failures)),
    since: failures.failingSince,
  };
}
