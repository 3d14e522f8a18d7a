import {
  rowId,
  cellText,
  createView,
  matchesFilter,
  NO_ROWS,
  type Row,
  type View,
  type ViewRequest,
  LoggedPage,
  stateOfTypes,
  streamRow,
  typeRow,
} from 'grpc-xds-page/internal';
import {
  listenerKind,
  type ClientState,
  type ControlPlane,
  type Snapshot,
  type SnapshotResource,
  type TypeState,
} from 'grpc-xds/control-plane';
import type { GivenResource, ServedGraph } from './client';
import { loadClient, type CliIo } from './io';
import { readListeners } from './served-listeners';
import { kindsOf, titleOf } from './output';
import { listFirst } from '../../../src/util/text';

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
  readonly all: readonly GivenResource[];
  /** The names of all Listeners, and those of the ones for clients. */
  readonly listeners: ReadonlySet<string>;
  readonly targets: readonly string[];
}

/** What the live page shows of a management server: the graph of what it serves, its clients, what each acknowledged and rejected, and the log. */
export class ServePage extends LoggedPage<readonly ClientState[]> {
  readonly about;
  private graph: ServedGraph | undefined;
  private resources: ServedResources | undefined;

  constructor(private readonly served: Served) {
    super(served.io.clock);
    this.about = {
      kind: 'control-plane',
      title: `grpc-xds serve ${cellText(served.title)}`,
    } as const;
  }

  protected read(): readonly ClientState[] {
    return this.served.controlPlane.clients();
  }

  protected view(readClients: () => readonly ClientState[], request: ViewRequest): View {
    const clients = readClients();
    switch (request.name) {
      case 'clients':
        return createView(clients, request, clientRow);
      case 'types': {
        const client = clients.find(({ streamId }) => `${streamId}` === request.target);
        return createView([...(client?.types.values() ?? [])], request, subscriptionRow);
      }
      case 'served':
        return servedView(this.served.snapshot(), request);
      case 'graph':
        return this.graphView(clients, request);
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

function clientRow(client: ClientState): Row {
  const types = [...client.types.values()];
  const rejection = types.find((type) => type.rejection !== undefined)?.rejection;
  return {
    ...streamRow(client),
    peer: client.peer,
    state: stateOfTypes(types),
    ...(rejection !== undefined && { reason: cellText(rejection.message) }),
  };
}

function subscriptionRow(type: TypeState): Row {
  const { subscribed, wildcard, rejection } = type;
  const requested = [...(wildcard ? ['all'] : []), ...listFirst(subscribed)].join(', ');
  return typeRow(type, requested, rejection && ` ${rejection.version}: ${rejection.message}`);
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

function toSent({ kind, name, value }: SnapshotResource): GivenResource {
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
