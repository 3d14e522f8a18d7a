import {
  pathId,
  cellText,
  firstRow,
  MAX_ROWS,
  NO_ROWS,
  type Row,
  type View,
  type ViewRequest,
} from '../live-page/view';
import type { RateColumns, ReadRates } from 'grpc-xds/internal';
import { groupRates, localityShare } from './topology-rates';
import type { EndpointState, PolicyState, StateDetails, StateName } from 'grpc-xds';
import { createTopology, type TopologyNode } from './topology';
import { causeOf } from './trouble';

/** Groups with more endpoints than this are closed at first. */
const MAX_OPEN_ENDPOINTS = 50;

/** A row, and where in the tree it is. */
interface Place {
  /** 1 for clusters. */
  readonly level: number;
  /** Among its siblings, from 1 on. */
  readonly position: number;
  readonly siblings: number;
}

/** The rows of a tree that are in the view, and how many there are. */
class Rows {
  total = 0;
  readonly rows: Row[] = [];

  constructor(
    readonly offset: number,
    readonly rates: ReadRates | undefined,
  ) {}

  ratesOf({ cluster = '' }: TopologyNode, endpoint?: EndpointState): RateColumns | undefined {
    return this.rates?.ofEndpoints(cluster, endpoint?.addresses ?? []);
  }

  /** Counts rows, and creates those that are in the view. */
  add(count: number, create: (index: number) => Row): void {
    const first = Math.max(this.offset - this.total, 0);
    const end = Math.min(count, this.offset + MAX_ROWS - this.total);
    for (let index = first; index < end; index++) this.rows.push(create(index));
    this.total += count;
  }
}

/**
 * The clusters of a channel down to its endpoints, as the rows of a tree of which groups may be closed.
 *
 * @param rates Those of its target. Default: there are none.
 */
export function topologyView(
  policies: PolicyState | undefined,
  request: ViewRequest,
  rates?: ReadRates,
): View {
  if (policies === undefined) return NO_ROWS;
  const nodes = createTopology(policies);
  const build = (offset: number) => {
    const rows = new Rows(offset, rates);
    addNodes(rows, nodes, 1, request);
    return rows;
  };
  const built = build(request.offset);
  const offset = firstRow(built.total, request.offset);
  const { total, rows } = offset === request.offset ? built : build(offset);
  return { total, offset, rows };
}

function addNodes(
  rows: Rows,
  nodes: readonly TopologyNode[],
  level: number,
  request: ViewRequest,
): void {
  nodes.forEach((node, index) => {
    const id = pathId(node.path);
    const isOpen = isGroupOpen(node, id, request);
    const place = { level, position: index + 1, siblings: nodes.length };
    rows.add(1, () => ({
      ...groupRow(node, { id, isOpen, place }),
      ...(isOpen && isGroup(node) && { error: undefined }),
      ...(rows.rates && describeRates(rows.rates, node, nodes)),
    }));
    if (!isOpen) return;
    addNodes(rows, node.children, level + 1, request);
    const { endpoints } = node;
    const errors = listErrors(endpoints);
    rows.add(endpoints.length, (i) => {
      const inside = { level: level + 1, position: i + 1, siblings: endpoints.length };
      return {
        ...endpointRow(node, endpoints[i], inside),
        ...(errors.has(i) && { error: cellText(errors.get(i) ?? '') }),
        ...rows.ratesOf(node, endpoints[i]),
      };
    });
  });
}

/** Returns each error once: under the first endpoint that has it, with the number of endpoints. */
function listErrors(endpoints: readonly EndpointState[]): ReadonlyMap<number, string> {
  const first = new Map<
    string,
    { readonly index: number; readonly error: string; count: number }
  >();
  endpoints.forEach(({ error }, index) => {
    if (error === undefined) return;
    const known = first.get(causeOf(error)) ?? { index, error, count: 0 };
    known.count++;
    first.set(causeOf(error), known);
  });
  return new Map(
    Array.from(first.values(), ({ index, error, count }) => [
      index,
      count === 1 ? error : `${count} of ${endpoints.length} endpoints: ${error}`,
    ]),
  );
}

function describeRates(
  rates: ReadRates,
  node: TopologyNode,
  siblings: readonly TopologyNode[],
): Omit<Row, 'id'> {
  const share = localityShare(rates, node, siblings);
  return { ...groupRates(rates, node), ...(share !== undefined && { shares: [share] }) };
}

function isGroupOpen(node: TopologyNode, id: string, { opened, closed }: ViewRequest): boolean {
  if (opened.has(id)) return true;
  return !closed.has(id) && node.endpoints.length <= MAX_OPEN_ENDPOINTS;
}

function groupRow(
  {
    kind,
    name,
    rollUp,
    error,
    policies,
    details,
    children,
    endpoints,
    endpointStates,
  }: TopologyNode,
  { id, isOpen, place }: { readonly id: string; readonly isOpen: boolean; readonly place: Place },
): Row {
  return {
    id,
    kind,
    name: cellText(name),
    state: rollUp.state,
    ...place,
    ...(isGroup({ children, endpoints }) && { isOpen }),
    ...(error !== undefined && { error: cellText(error) }),
    policies: cellText(policies.join(' > ')),
    endpoints: formatCounts(endpointStates),
    connections: endpointStates.get('READY') ?? 0,
    details: formatDetails(shownDetails(name, details)),
  };
}

/** Whether there is anything in it, which then says what is wrong. */
function isGroup({ children, endpoints }: Pick<TopologyNode, 'children' | 'endpoints'>): boolean {
  return children.length + endpoints.length > 0;
}

/** Removes what the row says already. */
function shownDetails(
  name: string,
  { cluster, detecting, ...details }: StateDetails,
): StateDetails {
  return {
    ...(cluster !== undefined && cluster !== name && { cluster }),
    ...(detecting === true && { outlierDetection: true }),
    ...details,
  };
}

function endpointRow(node: TopologyNode, endpoint: EndpointState | undefined, place: Place): Row {
  const { addresses = [], state = 'IDLE', health, weight, details } = endpoint ?? {};
  const { callsInFlight, latencyMs, failingSince, ejected } = endpoint ?? {};
  const [address = ''] = addresses;
  return {
    id: pathId([...node.path, address]),
    kind: 'endpoint',
    name: cellText(addresses.join(', ')),
    state,
    ...place,
    ...(health !== undefined && { health }),
    ...(weight !== undefined && { weight }),
    ...(ejected === true && { ejected }),
    details: formatDetails({
      ...(failingSince !== undefined && { failingSince }),
      ...(callsInFlight !== undefined && { callsInFlight }),
      ...(latencyMs !== undefined && { latency: `${latencyMs.toFixed(1)}\u00a0ms` }),
      ...details,
    }),
  };
}

function formatCounts(states: ReadonlyMap<StateName, number>): string {
  const counts = [...states].map(([state, count]) => `${count} ${state}`);
  return counts.join(', ');
}

/** Formats such as `{ callsInFlight: 3, inUse: true }` as `calls in flight 3, in use`. */
function formatDetails(details: StateDetails): string {
  const texts = Object.entries(details).map(([name, value]) => {
    const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    return value === true ? words : value === false ? `not ${words}` : `${words} ${value}`;
  });
  return cellText(texts.join(', '));
}
