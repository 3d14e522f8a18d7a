import {
  PageLog,
  rowId,
  cellText,
  createView,
  matchesFilter,
  NO_ROWS,
  type PageSource,
  type PageState,
  type Row,
  type View,
  type ViewRequest,
} from 'grpc-xds-page/internal';
import {
  listenerKind,
  type ClientState,
  type ControlPlane,
  type Snapshot,
  type SnapshotResource,
  type TypeState,
} from 'grpc-xds/control-plane';
import type { SentResource, ServedGraph } from './client';
import { loadClient, type CliIo } from './io';
import { readListeners } from './served-listeners';
import { kindsOf, titleOf } from './output';

/** The number of requested names in a cell. */
const MAX_NAMES = 20;

/** The parts of `serve` that the page shows. */
interface Served {
  readonly controlPlane: ControlPlane;
  readonly snapshot: () => Snapshot;
  readonly io: Pick<CliIo, 'clock' | 'env'>;
  /** What is served, such as `echo.yaml`. */
  readonly title: string;
}

/** What the graph is drawn by, read once for each snapshot. */
interface ServedResources {
  readonly snapshot: Snapshot;
  readonly all: readonly SentResource[];
  /** The names of all Listeners, and those of the ones for clients. */
  readonly listeners: ReadonlySet<string>;
  readonly targets: readonly string[];
}

/** What the live page shows of a management server: the graph of what it serves, its clients, what each acknowledged and rejected, and the log. */
export class ServePage implements PageSource {
  readonly about;
  private readonly lines: PageLog;
  private graph: ServedGraph | undefined;
  private resources: ServedResources | undefined;

  constructor(private readonly served: Served) {
    this.about = {
      kind: 'control-plane',
      title: `grpc-xds serve ${cellText(served.title)}`,
    } as const;
    this.lines = new PageLog(served.io.clock);
  }

  /** Adds a line of the log. */
  log(kind: string, text: string): void {
    this.lines.add(kind, text);
  }

  capture(): PageState {
    const clients = this.served.controlPlane.clients();
    return { view: (request) => this.view(clients, request) };
  }

  /** There is nothing besides the views. */
  answer(): undefined {
    return undefined;
  }

  /** Does nothing: a page observes nothing by itself. */
  release(): void {}

  private view(clients: readonly ClientState[], request: ViewRequest): View {
    switch (request.name) {
      case 'clients':
        return createView(clients, request, clientRow);
      case 'types': {
        const client = clients.find(({ streamId }) => `${streamId}` === request.target);
        return createView([...(client?.types.values() ?? [])], request, typeRow);
      }
      case 'served':
        return servedView(this.served.snapshot(), request);
      case 'graph':
        return this.graphView(clients, request);
      case 'events':
        return this.lines.view(request);
      default:
        return NO_ROWS;
    }
  }

  /** The graph of what a client requests; of every Listener for clients, while none is chosen. */
  private graphView(clients: readonly ClientState[], request: ViewRequest): View {
    const { all, listeners, targets } = this.readSnapshot();
    const client = clients.find(({ streamId }) => `${streamId}` === request.target);
    const requested = client?.types.get(listenerKind.typeUrl);
    const isWhole = requested === undefined || requested.wildcard;
    // A Listener that is served and has no target is for servers.
    const drawn = isWhole
      ? targets
      : requested.subscribed.filter((name) => targets.includes(name) || !listeners.has(name));
    this.graph ??= new (loadClient().loadServedGraphs().ServedGraph)(this.served.io);
    return this.graph.view(all, drawn, request);
  }

  private readSnapshot(): ServedResources {
    const snapshot = this.served.snapshot();
    if (this.resources?.snapshot === snapshot) return this.resources;
    this.resources = {
      snapshot,
      all: resourcesOf(snapshot).map(toSent),
      listeners: new Set(snapshot.set(listenerKind).byName.keys()),
      targets: readListeners(snapshot).targets,
    };
    return this.resources;
  }
}

function clientRow({ streamId, nodeId, peer, method, connectedAtMs, types }: ClientState): Row {
  const states = [...types.values()];
  const rejection = states.find((type) => type.rejection !== undefined)?.rejection;
  const isWaiting = states.some((type) => stateOf(type) === 'waiting');
  return {
    id: `${streamId}`,
    node: cellText(nodeId === '' ? `client ${streamId}` : nodeId),
    peer,
    method,
    connectedAt: new Date(connectedAtMs).toISOString(),
    state: rejection !== undefined ? 'rejected' : isWaiting ? 'waiting' : 'acknowledged',
    ...(rejection !== undefined && { reason: cellText(rejection.message) }),
  };
}

function typeRow(type: TypeState): Row {
  const { typeUrl, subscribed, wildcard, sentVersion, ackedVersion, rejection } = type;
  const names = subscribed.slice(0, MAX_NAMES).join(', ');
  const more = subscribed.length > MAX_NAMES ? `, and ${subscribed.length - MAX_NAMES} more` : '';
  return {
    id: typeUrl,
    type: typeUrl.slice(typeUrl.lastIndexOf('.') + 1),
    state: stateOf(type),
    sent: cellText(sentVersion ?? 'nothing'),
    acked: cellText(ackedVersion ?? 'nothing'),
    ...(rejection && {
      rejection: cellText(`rejected ${rejection.version}: ${rejection.message}`),
    }),
    names: cellText(
      wildcard ? `all${subscribed.length > 0 ? `, ${names}` : ''}${more}` : names + more,
    ),
  };
}

function stateOf({ rejection, sentVersion, ackedVersion }: TypeState): string {
  if (rejection !== undefined) return 'rejected';
  return sentVersion === ackedVersion ? 'acknowledged' : 'waiting';
}

function servedView(snapshot: Snapshot, request: ViewRequest): View {
  const found = resourcesOf(snapshot).filter(({ kind, name }) =>
    matchesFilter(request.filter, titleOf(kind), name),
  );
  return createView(found, request, servedRow);
}

function resourcesOf(snapshot: Snapshot): readonly SnapshotResource[] {
  return kindsOf(snapshot).flatMap((kind) => [...snapshot.set(kind).byName.values()]);
}

function toSent({ kind, name, value }: SnapshotResource): SentResource {
  return { typeUrl: kind.typeUrl, name, value };
}

function servedRow({ kind, name, version }: SnapshotResource): Row {
  return {
    id: rowId(kind.typeUrl, name),
    type: titleOf(kind),
    name: cellText(name),
    version: cellText(version),
  };
}
