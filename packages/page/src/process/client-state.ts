import type { PolicyState, ServerSnapshot, CertificateState } from 'grpc-xds';
import {
  describeHeldBack,
  describeTarget,
  describeCertificates,
  type InspectedProcess,
  type ReadRates,
  type ClientSnapshot,
} from 'grpc-xds/internal';
import { SERVER_TARGET } from '../../../../src/util/report-targets';
import {
  rowId,
  cellText,
  createView,
  NO_ROWS,
  type PageState,
  type Row,
  type View,
  type ViewRequest,
} from '../live-page/view';
import { buildServerGraph } from '../graph/server-graph';
import { withControlPlane, type GraphProcess } from '../graph/control-plane-graph';
import { err, ok } from '../../../../src/util/result';
import { runSteps, type Steps } from '../../../../src/util/steps';
import { describeEvent, eventLines } from './history-event';
import { describeTargetAsText, type DescribedTarget } from './target-text';
import { type PastStates, describePast } from './past-states';
import { PACKAGE_VERSION } from '../../../../src/util/version';
import type { ProcessEvents } from './events';
import { GraphRates } from './graph-rates';
import type { PastInput } from './past-graph';
import { graphRows } from './graph-rows';
import { findEvent, listEvents, type HistoryEvent } from './history';
import { stateAfter } from './history-state';
import { KeptViews } from './kept-views';
import { noticeView } from './notices';
import { problemsOf, resourceView, routeView } from './resource-rows';
import { findCommonFailure } from './common-failure';
import { serverView } from './server-rows';
import { topologyView } from './topology-rows';

/** The number of resources that are held back, shown for each target. */
const MAX_HELD = 8;

/** The number of characters of a target that is its own id. */
const MAX_ID_LENGTH = 300;

const NO_SNAPSHOT: ClientSnapshot = { servers: [], resources: [], changes: [] };

type Client = InspectedProcess['clients'][number];

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
  /** How many clients each target has. */
  private readonly counts = new Map<string, number>();
  private readonly policies = new Map<object, PolicyState>();
  /** The rows of targets that a reader has seen, by their ids. */
  private readonly targetRows = new Map<string, Row>();
  private failures: ReturnType<InspectedProcess['policyFailures']> | undefined;

  constructor(
    private readonly inspected: InspectedProcess | undefined,
    private readonly events: ProcessEvents,
    private readonly past: PastStates,
    private readonly ratesOfTarget: (target: string) => ReadRates | undefined = () => undefined,
    private readonly kept = new KeptViews(),
  ) {
    this.clients = clientsById(inspected);
    for (const { scope } of this.clients.values()) {
      this.counts.set(scope, this.countClients(scope) + 1);
    }
  }

  /** Calls are counted by target: where several clients have the same one, which of them a call was of is not known. */
  private ratesOf(target: string): ReadRates | undefined {
    return this.countClients(target) > 1 ? undefined : this.ratesOfTarget(target);
  }

  private countClients(target: string): number {
    return this.counts.get(target) ?? 0;
  }

  view(request: ViewRequest): View {
    const { inspected } = this;
    const target = this.targetOf(request);
    // The application may have some before its first channel.
    if (request.name === 'notices') return noticeView(this.events.latest(), request);
    if (inspected === undefined) return NO_ROWS;
    const client = this.clients.get(target);
    const scope = client?.scope ?? '';
    switch (request.name) {
      case 'targets':
        return createView([...this.clients.keys()], request, (id) => this.targetRow(inspected, id));
      case 'servers':
        return createView(this.snapshot(target).servers, request, serverRow);
      case 'resources':
        return resourceView(inspected, this.snapshot(target), request);
      case 'routes':
        return routeView(client?.resolution()?.live?.config, request, this.ratesOf(scope));
      case 'graph':
        return runSteps(this.graphView(inspected, request));
      case 'topology':
        return this.topologyView(inspected, client, request);
      case 'addresses':
        return serverView(inspected.servers(), request);
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

  *viewInSteps(request: ViewRequest): Steps<View> {
    yield;
    const { inspected } = this;
    if (inspected === undefined) return this.view(request);
    for (const id of this.describedTargets(request)) {
      const resolution = this.clients.get(id)?.resolution();
      if (resolution !== undefined) this.policiesOf(inspected, resolution);
      if (request.name === 'targets') this.targetRow(inspected, id);
      yield;
    }
    return request.name === 'graph'
      ? yield* this.graphView(inspected, request)
      : this.view(request);
  }

  /** Returns the targets whose policies a view shows. */
  private describedTargets(request: ViewRequest): readonly string[] {
    const { name } = request;
    if (name === 'graph' || name === 'topology') return [this.targetOf(request)];
    const ids = name === 'targets' ? [...this.clients.keys()] : [];
    return createView(ids, request, (id) => ({ id })).rows.map(({ id }) => id);
  }

  /** A page that does not know the targets yet has the first one without a second request. */
  private targetOf({ target }: ViewRequest): string {
    const [first = ''] = this.clients.keys();
    return target === '' ? first : target;
  }

  private listedEvents(target: string, request: ViewRequest): View {
    const scope = this.clients.get(target)?.scope ?? '';
    const { changes } = this.snapshot(target);
    return this.kept.events(request).view(changes, this.events.latest(), scope);
  }

  private *graphView(inspected: InspectedProcess, request: ViewRequest): Steps<View> {
    const target = this.targetOf(request);
    const scope = this.clients.get(target)?.scope ?? '';
    const { at } = request;
    const isServer = target === SERVER_TARGET;
    const input = isServer ? undefined : this.graphInput({ target, at });
    yield;
    if (input !== undefined) {
      // Rates are known for the present only.
      const rates = at === undefined ? this.ratesOf(scope) : undefined;
      const counted = rates && new GraphRates(rates, input.config);
      const graph = this.kept.graph(request);
      return yield* graph.view(input, counted && ((part) => counted.describe(part)));
    }
    if (!isServer && at !== undefined) return NO_ROWS;
    // Without a config, what the process waits for is seen at least.
    const nothing = { target: scope, nodes: [], edges: [] };
    const calls = isServer ? buildServerGraph(inspected.servers()) : nothing;
    return graphRows(withControlPlane(calls, this.processOf(target)), request);
  }

  private topologyView(
    inspected: InspectedProcess,
    client: Client | undefined,
    request: ViewRequest,
  ): View {
    const resolution = client?.resolution();
    const policies = resolution && this.policiesOf(inspected, resolution);
    return topologyView(policies, request, this.ratesOf(client?.scope ?? ''));
  }

  /** Everything about one event of a target; `undefined` if there is none with that id. */
  explainEvent(target: string, id: string): Promise<object> | undefined {
    const client = this.clients.get(target);
    const event = findEvent(this.eventsOf(target), id);
    if (client === undefined || event === undefined) return undefined;
    const described = describeEvent(event, client);
    return this.stateAt(target, id).ready.then((state) => ({
      ...described,
      state: describePast(state),
    }));
  }

  /** Describes a target as text. @param at The id of an event after which it is described; undefined for the present. */
  async describeAsText(
    target: string,
    at: string | undefined,
    nowMs: number,
  ): Promise<object | undefined> {
    const client = this.clients.get(target);
    if (client === undefined) return undefined;
    const { resources } = this.snapshot(target);
    const event = at === undefined ? undefined : findEvent(this.eventsOf(target), at);
    const eventTexts = event === undefined ? [] : eventLines(describeEvent(event, client));
    const graph = at === undefined ? this.present(target) : await this.stateAt(target, at).ready;
    const text = describeTargetAsText({
      target: client.scope,
      atMs: event?.atMs ?? nowMs,
      event: eventTexts,
      graph,
      resources,
    });
    return { text };
  }

  /** Returns what the graph of a target is drawn of, as it is or was; `undefined` if there is none. */
  graphInput({ target, at }: Pick<ViewRequest, 'target' | 'at'>): PastInput | undefined {
    const state = at === undefined ? this.present(target) : this.stateAt(target, at).known;
    return state?.ok === true ? { target, policies: undefined, ...state.value } : undefined;
  }

  private present(target: string): DescribedTarget['graph'] {
    const { inspected } = this;
    const resolution = this.clients.get(target)?.resolution();
    const config = resolution?.live?.config;
    if (config === undefined) return err(resolution?.failure ?? 'the resources are incomplete');
    const policies = resolution && inspected && this.policiesOf(inspected, resolution);
    return ok({ config, policies, process: this.processOf(target) });
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
    const known = this.snapshots.get(target);
    if (known !== undefined) return known;
    const snapshot = this.clients.get(target)?.snapshot() ?? NO_SNAPSHOT;
    this.snapshots.set(target, snapshot);
    return snapshot;
  }

  /** The policies of a channel, which several views of one look at. */
  private policiesOf(
    inspected: InspectedProcess,
    resolution: Parameters<InspectedProcess['describePolicies']>[0],
  ): PolicyState | undefined {
    const known = this.policies.get(resolution.clusters);
    if (known !== undefined) return known;
    const described = inspected.describePolicies(resolution);
    if (described !== undefined) this.policies.set(resolution.clusters, described);
    return described;
  }

  /** Why each call fails, as the policies of the channel say. */
  private policyFailure(
    inspected: InspectedProcess,
    resolution: ReturnType<Client['resolution']>,
  ): string | undefined {
    if (resolution === undefined) return undefined;
    this.failures ??= inspected.policyFailures();
    return this.failures.get(resolution.clusters);
  }

  private targetRow(inspected: InspectedProcess, id: string): Row {
    const row = this.targetRows.get(id) ?? this.describeTargetRow(inspected, id);
    this.targetRows.set(id, row);
    return row;
  }

  private describeTargetRow(inspected: InspectedProcess, id: string): Row {
    const client = this.clients.get(id);
    const { scope = '', nodeId = '' } = client ?? {};
    const resolution = client?.resolution();
    const { servers, resources } = this.snapshot(id);
    const described = describeTarget(
      { scope, resolution: () => resolution, snapshot: () => this.snapshot(id) },
      (of) => this.policiesOf(inspected, of),
    );
    const { waitingFor, config } = described;
    const failure =
      described.failure ??
      (config && (findCommonFailure(config) ?? this.policyFailure(inspected, resolution)));
    const { rollUp } = described;
    const state = failure === undefined ? rollUp.state : 'failing';
    // The text begins with the state, which the row has already.
    const reason = failure ?? waitingFor[0] ?? rollUp.text.slice(state.length).replace(/^:? /, '');
    return {
      id,
      target: cellText(scope.length > MAX_ID_LENGTH ? scope : id),
      state,
      nodeId: cellText(nodeId),
      reason: cellText(reason),
      waiting: waitingFor.length,
      ...heldBackCells(resolution),
      ...configCells(config),
      ...this.ratesOf(scope)?.ofTarget(),
      ...(this.countClients(scope) > 1 && { sameTarget: this.countClients(scope) }),
      resources: resources.length,
      problems: problemsOf(resources).length,
      servers: servers
        .map(({ serverUri, state: of }) => cellText(`${serverUri} ${of}`))
        .slice(0, 8),
    };
  }
}

function configCells(config: ReturnType<typeof describeTarget>['config']): object {
  if (config === undefined) return {};
  const { listener, routeConfig, clusters } = config;
  return {
    listener: cellText(listener),
    routeConfig: cellText(routeConfig),
    clusters: clusters.length,
  };
}

function heldBackCells(resolution: ReturnType<Client['resolution']>): object {
  const held = resolution?.heldBack(MAX_HELD) ?? [];
  return held.length === 0
    ? {}
    : { heldBack: held.map((each) => cellText(describeHeldBack(each))) };
}

function serverRow(
  { serverUri, state, lastError, retryInMs, shortStreams }: ServerSnapshot,
  index: number,
): Row {
  const error =
    lastError ??
    (shortStreams > 0 ? `ended ${shortStreams} streams soon after they opened` : undefined);
  return {
    id: `${index}`,
    state,
    server: cellText(serverUri),
    ...(error !== undefined && { error: cellText(error) }),
    ...(retryInMs !== undefined && { retry: `in ${Math.ceil(retryInMs / 1000)} s` }),
  };
}

function toCertificateRow(
  { instance, plugin, name, identity, roots }: ReturnType<typeof describeCertificates>,
  index: number,
): Row {
  return {
    id: `${index}`,
    instance: cellText(instance),
    plugin: cellText(plugin),
    name: cellText(name),
    identity: describeCertificate(identity),
    roots: describeCertificate(roots),
  };
}

function describeCertificate(certificate: CertificateState): string {
  switch (certificate.state) {
    case 'pending':
      return 'pending';
    case 'failed':
      return cellText(`failed: ${certificate.error}`);
    case 'ready':
      return `ready, ${certificate.certificates} valid until ${certificate.expiresAt}`;
  }
}
