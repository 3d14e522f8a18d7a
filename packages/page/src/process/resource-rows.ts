import {
  rowId,
  cellText,
  createView,
  matchesFilter,
  NO_ROWS,
  type Row,
  type View,
  type ViewRequest,
} from '../live-page/view';
import {
  type ClientSnapshot,
  type ResourceChange,
  type ResourceSnapshot,
  resourceToJson,
  valuesAfter,
  describeResource,
  type InspectedProcess,
  type XdsConfig,
  DescribedRoute,
  type RateColumns,
  type ReadRates,
} from 'grpc-xds/internal';
import { shortName } from '../../../../src/util/text';
import { toIso } from '../../../../src/util/since';
import { describeDifferences } from './history-difference';
import { describeGot } from '../graph/words';

/** The size of an encoded resource up to which a page shows its contents. */
const MAX_CONTENT_BYTES = 256 * 1024;
/** The number of changes of one resource. */
const MAX_CHANGES = 20;
/** The number of its latest changes whose values are compared, and of the differences of each. */
const MAX_DIFFS = 5;
const MAX_LINES = 20;
/** The number of unused fields of one resource that are named. */
const MAX_FIELDS = 200;

/** The number of clusters of a route whose shares are shown. */
const MAX_SHARES = 20;

/** The unused fields of each value: to find them, it has to be decoded. */
const unusedFields = new WeakMap<Uint8Array, readonly string[]>();

/** The resources of a target, those with problems first. */
export function resourceView(
  inspected: InspectedProcess,
  { resources }: ClientSnapshot,
  request: ViewRequest,
): View {
  const found = resources.filter(({ typeUrl, name, status }) =>
    matchesFilter(request.filter, shortName(typeUrl), name, status),
  );
  const wrong = found.filter(({ status }) => status !== 'ACKED');
  const fine = found.filter(({ status }) => status === 'ACKED');
  return createView([...wrong, ...fine], request, (each) => resourceRow(inspected, each));
}

/** Everything about one resource; `undefined` if there is none with that id. */
export function explainResource(
  inspected: InspectedProcess,
  { resources, changes }: Pick<ClientSnapshot, 'resources' | 'changes'>,
  id: string,
): object | undefined {
  const resource = resources.find(({ typeUrl, name }) => rowId(typeUrl, name) === id);
  if (resource === undefined) return undefined;
  const { accepted, typeUrl, name } = resource;
  const own = changes.filter((change) => change.typeUrl === typeUrl && change.name === name);
  return {
    ...describeResource(resource),
    unusedFields: unusedFieldsOf(inspected, resource).slice(0, MAX_FIELDS),
    changes: describeChanges(resource, own),
    ...(accepted && { contents: contentsOf(typeUrl, accepted.bytes) }),
  };
}

function resourceRow(inspected: InspectedProcess, resource: ResourceSnapshot): Row {
  const { failure, ...cells } = describeResource(resource);
  return {
    ...cells,
    id: rowId(resource.typeUrl, resource.name),
    name: cellText(cells.name),
    version: cells.version && cellText(cells.version),
    unused: unusedFieldsOf(inspected, resource).length,
    failure: failure && cellText(resource.failure?.violations ?? failure.details),
    failedVersion: failure && cellText(failure.version),
  };
}

/** Describes the last changes of a resource, the latest first. @param changes The oldest first. */
function describeChanges(
  resource: ResourceSnapshot,
  changes: readonly ResourceChange[],
): readonly object[] {
  const after = valuesAfter({ resources: [resource], changes });
  const latest = changes.slice(-MAX_CHANGES).reverse();
  return latest.map((change, index) => {
    const { atMs, serverUri, typeUrl, kind, version, text, before } = change;
    const [from, to] = [before?.bytes, after.get(change)?.bytes];
    const diff =
      index < MAX_DIFFS && from && to && describeDifferences(typeUrl, from, to).slice(0, MAX_LINES);
    return {
      at: toIso(atMs),
      server: cellText(serverUri),
      kind,
      version: cellText(version),
      text: cellText(text),
      ...(diff && { diff }),
    };
  });
}

function unusedFieldsOf(
  { describeUnusedFields }: InspectedProcess,
  { typeUrl, accepted }: ResourceSnapshot,
): readonly string[] {
  if (accepted === undefined) return [];
  const known = unusedFields.get(accepted.bytes);
  if (known !== undefined) return known;
  const fields = describeUnusedFields(typeUrl, accepted.bytes);
  unusedFields.set(accepted.bytes, fields);
  return fields;
}

function contentsOf(typeUrl: string, bytes: Uint8Array): unknown {
  if (bytes.length <= MAX_CONTENT_BYTES) {
    return resourceToJson(typeUrl, bytes);
  }
  return `left out: ${bytes.length} bytes; inspect({ contents: true }) has up to 8 MiB`;
}

/**
 * The routes of a target, in the order in which calls try them.
 *
 * @param rates Those of the target. Default: there are none.
 */
export function routeView(
  config: XdsConfig | undefined,
  request: ViewRequest,
  rates?: ReadRates,
): View {
  if (config === undefined) return NO_ROWS;
  const { virtualHost } = config;
  const { routes } = virtualHost;
  const found =
    request.filter === ''
      ? routes
      : routes.filter((route) => isFound(new DescribedRoute(route, virtualHost), request.filter));
  // Only the rows that are shown are made: there may be hundreds of thousands.
  return createView(found, request, (each) => {
    const route = new DescribedRoute(each, virtualHost);
    return { ...routeRow(route), ...(rates && routeRates(rates, route)) };
  });
}

/** Its clusters with the shares that they got, if calls are split among several. */
function routeRates(
  rates: ReadRates,
  route: DescribedRoute,
): Partial<RateColumns> & { readonly shares?: readonly string[] } {
  const { shares: asked = [] } = route;
  const shares = asked.slice(0, MAX_SHARES).flatMap(({ cluster, share }) => {
    const got = asked.length < 2 ? undefined : rates.shareOfSplit(route, cluster);
    return got === undefined ? [] : [cellText(`${cluster}: ${describeGot(share, got, 'calls')}`)];
  });
  return { ...rates.ofRoute(route), ...(shares.length > 0 && { shares }) };
}

function isFound({ name, match, action }: DescribedRoute, filter: string): boolean {
  return [name, match, action].some((text) => matchesFilter(filter, cellText(text)));
}

function routeRow({ index, name, match, action }: DescribedRoute): Row {
  return {
    id: `${index}`,
    index,
    name: cellText(name),
    match: cellText(match),
    action: cellText(action),
  };
}
