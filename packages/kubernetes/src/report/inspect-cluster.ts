import type { ClientState } from 'grpc-xds/control-plane';
import type { ClusterObjects, ObjectKey } from '../cluster-objects';
import type { PolicyProblem } from '../translate/service-policy';
import { reportClient } from './client-report';
import type {
  InspectKubernetesOptions,
  KubernetesClientReport,
  KubernetesListName,
  KubernetesReportList,
  KubernetesRouteReport,
  KubernetesServiceReport,
} from './kubernetes-report';
import { reportRoute } from './route-report';
import { reportService, Subscribers } from './service-report';

/** What lists are read from. */
export interface InspectedCluster {
  readonly objects: ClusterObjects;
  readonly problemsOf: (key: ObjectKey) => readonly PolicyProblem[];
  readonly domain: string;
}

/** The lists of a report. */
export interface KubernetesLists {
  /** By namespace and name. */
  readonly services: KubernetesReportList<KubernetesServiceReport>;
  readonly routes: KubernetesReportList<KubernetesRouteReport>;
  /** In the order of their streams. */
  readonly clients: KubernetesReportList<KubernetesClientReport>;
}

const DEFAULT_LIMIT = 1000;
const ALL: readonly KubernetesListName[] = ['services', 'routes', 'clients'];

/** Lists Services, GRPCRoutes and clients. Only the items that are returned are described. */
export function listCluster(
  { objects, problemsOf, domain }: InspectedCluster,
  options: InspectKubernetesOptions,
): KubernetesLists {
  const { clients = [], filter = '', lists = ALL } = options;
  const text = filter.toLowerCase();
  const sorted = <T>(name: KubernetesListName, all: ReadonlyMap<ObjectKey, T>) =>
    lists.includes(name)
      ? [...all].filter(([key]) => key.includes(text)).sort(([a], [b]) => (a < b ? -1 : 1))
      : [];
  const subscribers = new Subscribers(lists.includes('services') ? clients : []);
  const input = { objects, problemsOf, subscribers, domain };
  const found = lists.includes('clients') ? clients.filter((each) => matches(each, text)) : [];
  return {
    services: partOf(sorted('services', objects.services), options, ([key, service]) =>
      reportService(key, service, input),
    ),
    routes: partOf(sorted('routes', objects.routes), options, ([, route]) =>
      reportRoute(objects, route),
    ),
    clients: partOf(found, options, (client) => reportClient(client, objects.nodes)),
  };
}

function matches({ nodeId, principal = '', peer }: ClientState, text: string): boolean {
  return [nodeId, principal, peer].some((each) => each.toLowerCase().includes(text));
}

function partOf<T, Item>(
  all: readonly T[],
  { offset = 0, limit = DEFAULT_LIMIT }: InspectKubernetesOptions,
  describe: (each: T) => Item,
): KubernetesReportList<Item> {
  return { total: all.length, offset, items: all.slice(offset, offset + limit).map(describe) };
}
