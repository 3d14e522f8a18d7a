import type { ClientState } from 'grpc-xds/control-plane';
import type {
  EndpointCounts,
  InspectKubernetesOptions,
  KubernetesClientReport,
  KubernetesCluster,
  KubernetesReport,
  KubernetesReportList,
  KubernetesRouteReport,
  KubernetesServiceReport,
  KubernetesSubscriptionReport,
  KubernetesWatchState,
} from 'grpc-xds-kubernetes';
import {
  cellText,
  createView,
  MAX_ROWS,
  NO_ROWS,
  firstRow,
  rowId,
  type Row,
  type View,
  type ViewRequest,
  LoggedPage,
  stateOfTypes,
  streamRow,
  typeRow,
} from 'grpc-xds-page/internal';
import type { Clock } from '../../../../src/util/clock';
import { inSeconds } from '../../../../src/util/duration';

/** What the page shows. */
export interface ShownCluster {
  readonly cluster: Pick<KubernetesCluster, 'inspect'>;
  /** Returns the clients of the control plane. */
  readonly clients: () => readonly ClientState[];
  readonly clock: Pick<Clock, 'now'>;
}

type ListName = 'services' | 'routes' | 'clients';

/** What the live page shows of a control plane for Kubernetes: clients, Services, GRPCRoutes, the watches, and the log. */
export class KubernetesPage extends LoggedPage<readonly ClientState[]> {
  readonly about = { kind: 'kubernetes', title: 'grpc-xds kubernetes' } as const;

  constructor(private readonly shown: ShownCluster) {
    super(shown.clock);
  }

  /** Returns the report of the cluster; there is nothing else. */
  override answer(name: string): KubernetesReport | undefined {
    if (name !== 'inspect') return undefined;
    return this.shown.cluster.inspect({ clients: this.shown.clients() });
  }

  protected read(): readonly ClientState[] {
    return this.shown.clients();
  }

  protected view(readClients: () => readonly ClientState[], request: ViewRequest): View {
    const { cluster } = this.shown;
    const inspect = (lists: readonly ListName[], options: InspectKubernetesOptions = {}) =>
      cluster.inspect({ clients: readClients(), ...options, lists });
    const { filter } = request;
    const filtered = (list: 'services' | 'routes') => {
      const { total } = inspect([list], { filter, limit: 1 })[list];
      return inspect([list], { ...partOf(request, total), filter });
    };
    switch (request.name) {
      case 'clients': {
        const { clients } = inspect(['clients'], partOf(request, readClients().length));
        return viewOf(clients, clientRow);
      }
      case 'types': {
        const clients = readClients().filter(({ streamId }) => `${streamId}` === request.target);
        const [client] = inspect(['clients'], { clients }).clients.items;
        return createView(client?.types ?? [], request, subscriptionRow);
      }
      case 'services':
        return viewOf(filtered('services').services, serviceRow);
      case 'routes':
        return viewOf(filtered('routes').routes, routeRow);
      case 'watches':
        return createView(cluster.inspect({ lists: [] }).watches, request, watchRow);
      default:
        return NO_ROWS;
    }
  }
}

function partOf({ offset }: ViewRequest, total: number): InspectKubernetesOptions {
  return { offset: firstRow(total, offset), limit: MAX_ROWS };
}

function viewOf<Item>(
  { total, offset, items }: KubernetesReportList<Item>,
  toRow: (item: Item) => Row,
): View {
  return { total, offset, rows: items.map(toRow) };
}

function clientRow(client: KubernetesClientReport): Row {
  const { principal, namespace, zone, peer, types } = client;
  const rejection = types.find((type) => type.rejection !== undefined)?.rejection;
  return {
    ...streamRow(client),
    peer,
    identity: cellText(principal ?? 'not authenticated'),
    place: cellText(`${namespace ?? 'no namespace'}, ${zone ?? 'no zone'}`),
    state: stateOfTypes(types),
    ...(rejection !== undefined && { reason: cellText(rejection.message) }),
  };
}

function subscriptionRow(type: KubernetesSubscriptionReport): Row {
  const { wildcard, names, nameCount, rejection } = type;
  const more = nameCount > names.length ? [`and ${nameCount - names.length} more`] : [];
  const requested = [...(wildcard ? ['all'] : []), ...names, ...more].join(', ');
  return typeRow(type, requested, rejection && ` ${rejection.version}: ${rejection.message}`);
}

function serviceRow(service: KubernetesServiceReport): Row {
  const { namespace, name, type, ports, endpoints, zones, problems, clients } = service;
  const isServed = type === 'ExternalName' || endpoints.ready > 0;
  const texts = problems.map(({ annotation, message, inUse }) =>
    [annotation, message, inUse === undefined ? undefined : `in use: ${inUse}`]
      .filter((part) => part !== undefined)
      .join(': '),
  );
  return {
    id: rowId(namespace, name),
    name: cellText(`${namespace}/${name}`),
    clients,
    ports: cellText(ports.map((port) => `${port.port} ${port.name}`.trim()).join(', ')),
    state: isServed ? 'ready' : 'empty',
    endpoints: type === 'ExternalName' ? 'by DNS (ExternalName)' : countText(endpoints),
    zones: cellText(
      zones.map(({ zone, ...counts }) => `${zone || 'no zone'}: ${countText(counts)}`).join('; '),
    ),
    ...(texts.length > 0 && { problems: cellText(texts.join('; ')) }),
  };
}

function countText({ total, ready, serving, terminating }: EndpointCounts): string {
  const more = [
    ...(serving > ready ? [`${serving} serving`] : []),
    ...(terminating > 0 ? [`${terminating} terminating`] : []),
  ];
  return [`${ready} of ${total} ready`, ...more].join(', ');
}

function routeRow({ namespace, name, parents }: KubernetesRouteReport): Row {
  const conditions = parents.flatMap((parent) =>
    parent.conditions.map((condition) => ({ ...condition, service: parent.service })),
  );
  const isTrue = (type: string) =>
    conditions.every((each) => each.type !== type || each.status === 'True');
  const texts = conditions
    .filter(({ message }) => message !== '')
    .map(({ service, type, reason, message }) => `${service}: ${type} (${reason}): ${message}`);
  return {
    id: rowId(namespace, name),
    name: cellText(`${namespace}/${name}`),
    services: cellText(parents.map(({ service }) => service).join(', ')),
    accepted: isTrue('Accepted') ? 'accepted' : 'refused',
    resolved: isTrue('ResolvedRefs') ? 'resolved' : 'unresolved',
    ...(texts.length > 0 && { problems: cellText(texts.join('; ')) }),
  };
}

function watchRow(watch: KubernetesWatchState): Row {
  const { resource, namespace, objectCount, ageMs, resourceVersion, lastError } = watch;
  return {
    id: rowId(resource, namespace ?? ''),
    resource,
    objects: objectCount,
    namespace: cellText(namespace ?? 'all'),
    state: stateOfWatch(watch),
    version: cellText(resourceVersion ?? 'none'),
    age: ageMs === undefined ? 'never' : `${inSeconds(ageMs)} ago`,
    retry: watch.retryInMs === undefined ? '' : `in ${inSeconds(watch.retryInMs)}`,
    ...(lastError !== undefined && { error: cellText(lastError) }),
  };
}

function stateOfWatch({ phase, lastError, isInstalled }: KubernetesWatchState): string {
  if (!isInstalled) return 'not installed';
  return lastError === undefined ? phase : 'failed';
}
