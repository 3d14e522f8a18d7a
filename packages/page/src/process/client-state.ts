import type { PolicyState } from 'grpc-xds';
import {
  type ClientSnapshot,
  describeCertificates,
  describeTarget,
  type InspectedProcess,
  type ReadRates,
} from 'grpc-xds/internal';
import { SERVER_TARGET } from '../../../../src/util/report-targets';
import {
  rowId,
  cellText,
  createView,
  MAX_ROWS,
  NO_ROWS,
  type PageState,
  type Row,
  type View,
  type ViewRequest,
} from '../live-page/view';
import {
  GRAPH_STATES,
  type GraphEdge,
  type GraphNode,
  type GraphState,
  type MeshGraph,
} from '../graph/mesh-graph';
import { getOrMake, groupBy } from '../graph/group-by';
import { rollUpParts } from '../graph/cluster-part';
import { buildProcessGraph, localitiesOf, targetId } from '../graph/process-graph';
import { urgencyOf } from '../graph/urgency';
import { buildServerGraph } from '../graph/server-graph';
import { withControlPlane, type GraphProcess } from '../graph/control-plane-graph';
import { RETRIED, worstFlaw } from '../graph/words';
import { err } from '../../../../src/util/result';
import { describeEvent } from './history-event';
import type { PastStates } from './past-states';
import { toIso } from '../../../../src/util/since';
import { PACKAGE_VERSION } from '../../../../src/util/version';
import { findEjections, type ProcessEvent, type ProcessEvents } from './events';
import { GraphRates, sumRates, withoutTrend } from './graph-rates';
import { describeAffected } from './affected';
import { failuresOf } from './call-faults';
import { countPlaces, faultCells, localityCells, placeFaults, rejectedUpdates } from './faults';
import { serversView } from './management-server-rows';
import { graphRows, type DescribeTraffic, type PastInput } from './graph-rows';
import { eventView, findEvent, joinEvents, listEvents, type HistoryEvent } from './history';
import { stateAfter } from './history-state';
import { KeptViews } from './kept-views';
import {
  addTrends,
  changeCells,
  findLastChange,
  latestOf,
  type Change,
  type Trends,
} from './last-change';
import { noticeView } from './notices';
import { toCertificateRow } from './certificate-rows';
import { configCells, countTargets, faultsOfTarget, type TargetFaults } from './target-cells';
import { resourceView, routeView } from './resource-rows';
import { findCommonFailure } from './common-failure';

/** The id of what all targets of a process have together, where there are several. */
const ALL = '#all';

/** What the servers of the process are called among the targets. */
const SERVED = 'Served addresses';

/** Targets that are drawn together; they are those that most is wrong with. */
const MAX_DRAWN = 40;

/** The number of characters of a target that is its own id. */
const MAX_ID_LENGTH = 300;

const NO_SNAPSHOT: ClientSnapshot = { servers: [], resources: [], changes: [] };

type Client = InspectedProcess['clients'][number];
type Described = ReturnType<typeof describeTarget>;

/**
 * Returns the clients of a process, each by its target. Where channels with bootstraps of their own have the same
 * target, the second one is `xds:///shop #2`.
 */
export function clientsById(inspected: InspectedProcess | undefined): ReadonlyMap<string, Client> {
  const clients = new Map<string, Client>();
  const counts = new Map<string, number>();
  for (const client of inspected?.clients ?? []) {
    const { scope } = client;
    const count = (counts.get(scope) ?? 0) + 1;
    counts.set(scope, count);
    // A name may be longer than a request.
    const id = scope.length <= MAX_ID_LENGTH ? scope : rowId(scope);
    clients.set(count === 1 ? id : `${id} #${count}`, client);
  }
  return clients;
}

/** The state of the clients of a process. A view is computed when a reader requests it. */
export class ClientState implements PageState {
  private readonly snapshots = new Map<string, ClientSnapshot>();
  private readonly clients: ReadonlyMap<string, Client>;
  /** The clients of each target. */
  private readonly byScope: ReadonlyMap<string, readonly Client[]>;
  private readonly policies = new Map<object, PolicyState | undefined>();
  /** The rows of targets that a reader has seen, by their ids. */
  private readonly targetRows = new Map<string, Row>();
  private readonly faults = new Map<string, TargetFaults>();
  private readonly changes = new Map<string, Change>();
  private readonly trends = new Map<string, Trends>();
  private latest: readonly ProcessEvent[] | undefined;
  /** Who calls the process, and its name. */
  private way: Parameters<typeof describeAffected>[1] | undefined;
  private failures: ReturnType<InspectedProcess['policyFailures']> | undefined;

  constructor(
    private readonly inspected: InspectedProcess | undefined,
    private readonly events: ProcessEvents,
    private readonly past: PastStates,
    private readonly ratesOfTarget: (target: string) => ReadRates | undefined = () => undefined,
    private readonly kept = new KeptViews(),
    /** When the last ten seconds of the trends ended, in milliseconds since the epoch. */
    private readonly trendEndMs = 0,
  ) {
    this.clients = clientsById(inspected);
    this.byScope = groupBy(this.clients.values(), ({ scope }) => scope);
  }

  /** Calls are counted by target: where several clients have the same one, which of them a call was of is not known. */
  private ratesOf(target: string): ReadRates | undefined {
    return this.countClients(target) > 1 ? undefined : this.ratesOfTarget(target);
  }

  private countClients(target: string): number {
    return this.byScope.get(target)?.length ?? 0;
  }

  /** Returns the state of the process, which other pages show beside their links; `undefined` for one with too many targets. */
  summary(): Pick<Row, 'state' | 'flaw'> | undefined {
    const { inspected } = this;
    const ids = inspected === undefined ? [] : this.sorted(inspected);
    const [first] = ids;
    if (inspected === undefined || first === undefined || ids.length > MAX_ROWS) return undefined;
    const { state, flaw } = this.targetRow(inspected, first);
    return { state, flaw };
  }

  view(request: ViewRequest): View {
    const { inspected } = this;
    // The application may have some before its first channel.
    if (request.name === 'notices') return noticeView(this.events.latest(), request);
    if (inspected === undefined) return NO_ROWS;
    const target = this.targetOf(request, inspected);
    const client = this.clients.get(target);
    const scope = client?.scope ?? '';
    switch (request.name) {
      case 'targets':
        return createView(this.sorted(inspected), request, (id) => this.targetRow(inspected, id));
      case 'servers':
        return serversView(this.snapshot(target), this.events.latest(), request);
      case 'resources':
        return resourceView(inspected, this.snapshot(target), request);
      case 'routes':
        return routeView(client?.resolution()?.live?.config, request, this.ratesOf(scope));
      case 'graph':
        return target === ALL
          ? this.processGraphView(inspected, request)
          : this.graphView(inspected, request, target);
      case 'certificates':
        return createView(
          inspected.certificates.map(describeCertificates),
          request,
          toCertificateRow,
        );
      case 'events':
        return this.listedEvents(target, request);
      default:
        return NO_ROWS;
    }
  }

  /** A page that does not know the targets yet has the first one without a second request. */
  private targetOf({ target }: ViewRequest, inspected: InspectedProcess): string {
    return target === '' ? (this.sorted(inspected)[0] ?? '') : target;
  }

  /** Returns the ids of targets, those that need a look first. Of very many, the order is that in which they began. */
  private sorted(inspected: InspectedProcess): readonly string[] {
    const ids = [...this.clients.keys()];
    if (ids.length === 1 || ids.length > MAX_ROWS) return ids;
    const rankOf = (id: string) => {
      const { state, flaw } = this.targetRow(inspected, id);
      return -urgencyOf({ state: graphState(state), flaw: textOf(flaw) });
    };
    const sorted = ids.toSorted((a, b) => rankOf(a) - rankOf(b));
    return ids.length === 0 ? [] : [ALL, ...sorted];
  }

  private listedEvents(target: string, request: ViewRequest): View {
    if (target === ALL) {
      const lists = [...this.clients.keys()].map((id) => [id, this.eventsOf(id)] as const);
      return eventView(joinEvents(lists), request);
    }
    const scope = this.clients.get(target)?.scope ?? '';
    const { changes } = this.snapshot(target);
    return this.kept.events(request).view(changes, this.events.latest(), scope);
  }

  private graphView(inspected: InspectedProcess, request: ViewRequest, target: string): View {
    const { at } = request;
    const scope = this.clients.get(target)?.scope ?? '';
    const isServer = target === SERVER_TARGET;
    const input = isServer ? undefined : this.graphInput({ target, at });
    if (input !== undefined) {
      const graph = this.kept.graph(request);
      // Rates and reasons are known for the present only.
      if (at !== undefined) return graph.view(input);
      const rates = this.ratesOf(scope);
      const counted = rates && new GraphRates(rates);
      const reasonOf = this.reasonsIn(inspected, [target]);
      return graph.view(input, (part) => ({ ...counted?.describe(part), ...reasonOf(part) }));
    }
    if (!isServer && at !== undefined) return NO_ROWS;
    // Without a config, what the process waits for is seen at least.
    const nothing = { target: scope, nodes: [], edges: [] };
    const calls = isServer ? buildServerGraph(inspected.servers()) : nothing;
    return graphRows(withControlPlane(calls, this.processOf(target)), request, (part) =>
      this.inboundOf(part),
    );
  }

  /** The targets together: who calls the process, and whom it calls. */
  private processGraphView(inspected: InspectedProcess, request: ViewRequest): View {
    const ids = this.sorted(inspected).filter((id) => id !== ALL && id !== SERVER_TARGET);
    const graphs = new Map<string, MeshGraph>();
    const traffic = new Map<string, GraphRates>();
    const targets = ids.slice(0, MAX_DRAWN).map((id) => {
      const input = this.graphInput({ target: id });
      const rates = input && this.ratesOf(this.clients.get(id)?.scope ?? '');
      const graph =
        input && this.kept.graphOf(request, id).update({ ...input, process: undefined });
      if (graph !== undefined) graphs.set(targetId({ name: id }), graph);
      if (rates !== undefined) traffic.set(targetId({ name: id }), new GraphRates(rates));
      const { state, reason, flaw } = this.targetRow(inspected, id);
      const shown = { state: graphState(state), text: String(reason) };
      return { name: id, ...shown, graph, flaw: textOf(flaw) };
    });
    const drawn = buildProcessGraph(
      this.processNode(inspected),
      targets,
      buildServerGraph(inspected.servers()),
      countPlaces(ids.flatMap((id) => this.faultsOf(id).trouble)),
    );
    const reasonOf = this.reasonsIn(inspected, ids);
    return graphRows(drawn, request, (part) => {
      if ('id' in part) {
        const shows = part.column === 'target' ? { shows: part.name } : {};
        const rates = { ...traffic.get(part.id)?.ofTarget(), ...this.inboundOf(part) };
        return { ...shows, ...rates, ...reasonOf(part) };
      }
      if (!traffic.has(part.to) && !traffic.has(part.from)) return this.inboundOf(part);
      const own = traffic.get(part.to);
      if (own !== undefined) return { ...withoutTrend(own.ofTarget()) };
      const [rates, graph] = [traffic.get(part.from), graphs.get(part.from)];
      if (rates === undefined || graph === undefined) return {};
      return sumRates(localitiesOf(part, graph).map((zone) => rates.describe(zone)));
    });
  }

  /** Returns what says, for a node of the graph of these targets, why it fails and since when. */
  private reasonsIn(inspected: InspectedProcess, ids: readonly string[]): DescribeTraffic {
    for (const id of ids) this.targetRow(inspected, id);
    const trouble = ids.flatMap((id) => this.faultsOf(id).trouble);
    const ejectionOf = findEjections(this.events.latest());
    return (part) => {
      if (!('id' in part)) return {};
      const { column, name, calls, state } = part;
      if (column === 'endpoint' && state === 'ejected') {
        const ejection = ejectionOf(calls?.cluster ?? '', name);
        return { since: ejection && toIso(ejection.atMs) };
      }
      if (column !== 'target') return localityCells(part, trouble);
      const faults = this.faultsOf(name);
      const { own, trouble: places, others } = faults;
      const [first] = [...faults.calls, ...placeFaults(places), ...own, ...others];
      return first === undefined ? {} : { text: cellText(first.text), since: first.since };
    };
  }

  /** What the servers of the process count of a part of their graph. */
  private inboundOf({ inbound }: GraphNode | GraphEdge): Omit<Row, 'id'> {
    return inbound === undefined ? {} : this.kept.inbound.of(inbound.address, inbound.client);
  }

  private processNode({ servers, clients }: InspectedProcess): Pick<GraphNode, 'name' | 'text'> {
    const ids = new Set(
      [...servers(), ...clients].map(({ nodeId }) => nodeId).filter((id) => id !== ''),
    );
    const pid = `process ${process.pid}`;
    return ids.size === 1 ? { name: [...ids].join(''), text: pid } : { name: pid, text: '' };
  }

  /** Everything about one event of a target; `undefined` if there is none with that id. */
  explainEvent(target: string, id: string): Promise<object> | undefined {
    const client = this.clients.get(target);
    const event = findEvent(this.eventsOf(target), id);
    if (client === undefined || event === undefined) return undefined;
    const described = describeEvent(event, client);
    // Whether the state after it is known, and what is missing of it.
    return this.stateAt(target, id).ready.then((state) => ({
      ...described,
      state: { isKnown: state.ok, note: state.ok ? state.value.note : state.error },
    }));
  }

  /** Returns what the graph of a target is drawn of, as it is or was; `undefined` if there is none. */
  graphInput({ target, at }: Pick<ViewRequest, 'target' | 'at'>): PastInput | undefined {
    if (at === undefined) return this.present(target);
    const state = this.stateAt(target, at).known;
    return state?.ok === true ? { target, policies: undefined, ...state.value } : undefined;
  }

  private present(target: string): PastInput | undefined {
    const { inspected } = this;
    const resolution = this.clients.get(target)?.resolution();
    const config = resolution?.live?.config;
    if (config === undefined) return undefined;
    const policies = resolution && inspected && this.policiesOf(inspected, resolution);
    return { target, config, policies, process: this.processOf(target) };
  }

  private processOf(target: string): GraphProcess | undefined {
    const client = this.clients.get(target);
    if (client === undefined) return undefined;
    return {
      pid: process.pid,
      nodeId: client.nodeId,
      version: PACKAGE_VERSION,
      servers: this.snapshot(target).servers,
      shares: this.inspected?.shares ?? [],
      rejected: rejectedUpdates(this.snapshot(target)).filter(({ isKept }) => isKept),
    };
  }

  /** Returns the state of a target after an event, or why it is not known. */
  private stateAt(target: string, id: string): ReturnType<PastStates['of']> {
    const { inspected } = this;
    const client = this.clients.get(target);
    return this.past.of(JSON.stringify([target, id]), async () => {
      const event = findEvent(this.eventsOf(target), id);
      if (inspected === undefined || client === undefined || event === undefined) {
        return err('the event is no longer kept');
      }
      return stateAfter(event, { inspected, client, events: this.events.latest() });
    });
  }

  private eventsOf(target: string): readonly HistoryEvent[] {
    const scope = this.clients.get(target)?.scope ?? '';
    return listEvents(this.snapshot(target).changes, this.events.latest(), scope);
  }

  private snapshot(target: string): ClientSnapshot {
    const read = () => this.clients.get(target)?.snapshot() ?? NO_SNAPSHOT;
    return getOrMake(this.snapshots, target, read);
  }

  /** The policies of a channel, which several views of one look at. */
  private policiesOf(
    inspected: InspectedProcess,
    resolution: Parameters<InspectedProcess['describePolicies']>[0],
  ): PolicyState | undefined {
    const { clusters } = resolution;
    const describe = () => this.kept.policiesOf(clusters, inspected.describePolicies(resolution));
    return getOrMake(this.policies, clusters, describe);
  }

  /** Why each call fails; `undefined` if not. */
  private failureOf(
    { failure, config }: Described,
    inspected: InspectedProcess,
    resolution: ReturnType<Client['resolution']>,
  ): string | undefined {
    const known = failure ?? (config && findCommonFailure(config));
    if (known !== undefined || config === undefined || resolution === undefined) return known;
    this.failures ??= inspected.policyFailures();
    return this.failures.get(resolution.clusters);
  }

  private targetRow(inspected: InspectedProcess, id: string): Row {
    return getOrMake(this.targetRows, id, () =>
      id === ALL ? this.describeAll(inspected) : this.describeTargetRow(inspected, id),
    );
  }

  /** What the targets come to together. */
  private describeAll(inspected: InspectedProcess): Row {
    const ids = this.sorted(inspected).filter((id) => id !== ALL);
    const all = ids.map((id) => this.targetRow(inspected, id));
    const rows = all.filter(({ id }) => id !== SERVER_TARGET);
    const server = all.find(({ id }) => id === SERVER_TARGET);
    const states = all.map((row) => graphState(row['state']));
    // Targets do not replace each other: one that fails is not made up for by the others.
    const state = states.find((each) => each === 'failing') ?? rollUpParts(states);
    const faults = ids.map((id) => this.faultsOf(id));
    const flaw = worstFlaw(all.map((row) => textOf(row['flaw'])));
    const trouble = faults.flatMap((each) => each.trouble);
    const trends = addTrends([...this.trends.values()]);
    return {
      id: ALL,
      target: 'All targets',
      state,
      flaw,
      reason: [
        ...countTargets(rows),
        ...(server !== undefined && server.state !== 'ready'
          ? [`${SERVED} ${graphState(server.state)}`]
          : []),
      ].join(', '),
      waiting: rows.reduce((sum, row) => sum + Number(row['waiting']), 0),
      ...faultCells([
        ...faults.flatMap(({ calls }) => calls),
        ...faults.flatMap(({ own }) => own),
        ...placeFaults(trouble),
        ...faults.flatMap(({ others }) => others),
      ]),
      ...changeCells(latestOf(this.changes.values()), trouble, trends),
      affected: this.affected(inspected, all),
      ...sumRates(rows),
      ...trends,
      nodeId: rows[0]?.['nodeId'],
      views: this.viewsOf(inspected, ALL, false),
    };
  }

  private affected(inspected: InspectedProcess, rows: readonly Row[]): string {
    this.way ??= {
      self: this.processNode(inspected).name,
      callers: [
        ...new Set(
          inspected
            .servers()
            .flatMap(({ connections }) => connections.identities.map(({ identity }) => identity)),
        ),
      ],
    };
    return cellText(describeAffected(rows, this.way));
  }

  private faultsOf(id: string): TargetFaults {
    return this.faults.get(id) ?? { calls: [], own: [], trouble: [], others: [], flaw: undefined };
  }

  /** Returns the views that have something of a target. */
  private viewsOf(inspected: InspectedProcess, id: string, hasRoutes: boolean): readonly string[] {
    const { resources, servers } = this.snapshot(id);
    const hasRows = {
      graph: true,
      resources: resources.length > 0,
      routes: hasRoutes,
      servers: servers.length > 0,
      certificates: inspected.certificates.length > 0,
      events: true,
    };
    return Object.entries(hasRows).flatMap(([name, has]) => (has ? [name] : []));
  }

  /** The calls of a target, or those that the servers of the process get. */
  private callCells(id: string, scope: string): Omit<Row, 'id'> {
    if (scope === SERVER_TARGET) return this.kept.inbound.all();
    const count = this.countClients(scope);
    const rates = this.ratesOf(scope);
    const { trend, errorTrend = [], ...columns } = rates?.ofTarget() ?? {};
    const { trendEndMs } = this;
    const latencyTrend = rates?.latencyTrend().slice(-(trend?.length ?? 0)) ?? [];
    const trends = trend && { trend, errorTrend, latencyTrend, trendEndMs };
    if (trends !== undefined) this.trends.set(id, trends);
    return {
      ...columns,
      ...trends,
      sameTarget: count > 1 ? count : undefined,
    };
  }

  private describeTargetRow(inspected: InspectedProcess, id: string): Row {
    const client = this.clients.get(id);
    const { scope = '', nodeId = '' } = client ?? {};
    const resolution = client?.resolution();
    const described = describeTarget(
      { scope, resolution: () => resolution, snapshot: () => this.snapshot(id) },
      (of) => this.policiesOf(inspected, of),
    );
    const { waitingFor, config, rollUp } = described;
    const failure = this.failureOf(described, inspected, resolution);
    const state = failure === undefined ? rollUp.state : 'failing';
    const reason = cellText(failure ?? waitingFor[0] ?? rollUp.reason ?? '');
    const name = nameOfTarget(id, scope);
    this.latest ??= this.events.latest();
    const counted = this.callCells(id, scope);
    const faults = faultsOfTarget({
      name,
      state,
      failures: failuresOf(counted),
      rates: this.ratesOf(scope),
      reason,
      described,
      snapshot: this.snapshot(id),
      addresses: scope === SERVER_TARGET ? inspected.servers() : [],
      events: this.latest,
      nowMs: this.events.clock.now(),
    });
    this.faults.set(id, faults);
    const { calls, own, trouble, others, flaw } = faults;
    const change = findLastChange(this.snapshot(id).changes, this.latest, scope, {
      // If every failed attempt was retried, no call has failed.
      calls: flaw === RETRIED ? [] : calls,
      describeFields: (of) => (client === undefined ? '' : this.kept.fieldsOf(of, client)),
    });
    if (change !== undefined) this.changes.set(id, change);
    const row = {
      id,
      target: name,
      state,
      flaw,
      nodeId: cellText(nodeId),
      reason,
      waiting: waitingFor.length,
      ...configCells(config, resolution),
      ...counted,
      ...faultCells([...calls, ...(trouble.length === 0 ? own : placeFaults(trouble)), ...others]),
      ...changeCells(change, trouble, this.trends.get(id)),
      views: this.viewsOf(inspected, id, config !== undefined),
    };
    return { ...row, affected: this.affected(inspected, [row]) };
  }
}

function nameOfTarget(id: string, scope: string): string {
  if (id === SERVER_TARGET) return SERVED;
  return cellText(scope.length > MAX_ID_LENGTH ? scope : id);
}

function textOf(cell: Row[string]): string | undefined {
  return cell === undefined ? undefined : String(cell);
}

/** The state of a row of a target as that of a node. */
function graphState(state: Row[string]): GraphState {
  return GRAPH_STATES.find((each) => each === state) ?? 'idle';
}
