import { rowId } from '../../live-page/row-id';
import type { PageState } from '../../live-page/page-source';
import {
  cellText,
  createView,
  NO_ROWS,
  type Row,
  type View,
  type ViewRequest,
} from '../../live-page/view';
import type { ClientSnapshot, ServerSnapshot } from '../../../xds-client/client-snapshot';
import { describeTarget, findResolution, type InspectedProcess } from '../inspect';
import type { CertificateState } from '../inspect-report';
import { describeCertificates } from '../certificates-report';
import type { ProcessEvents } from './process-events';
import { eventView } from './event-rows';
import { problemsOf, resourceView } from './resource-rows';
import { routeView } from './route-rows';
import { topologyView } from './topology-rows';

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

/** The state of the clients of a process. What no reader has asked for is not computed. */
export class ClientState implements PageState {
  private readonly snapshots = new Map<string, ClientSnapshot>();
  private readonly clients: ReadonlyMap<string, Client>;

  constructor(
    private readonly inspected: InspectedProcess | undefined,
    private readonly events: ProcessEvents,
  ) {
    this.clients = clientsById(inspected);
  }

  view(request: ViewRequest): View {
    const { inspected } = this;
    const { target } = request;
    if (inspected === undefined) return NO_ROWS;
    const scope = this.clients.get(target)?.scope ?? '';
    switch (request.name) {
      case 'targets':
        return createView([...this.clients.keys()], request, (id) => this.targetRow(inspected, id));
      case 'servers':
        return createView(this.snapshot(target).servers, request, serverRow);
      case 'resources':
        return resourceView(inspected, this.snapshot(target), request);
      case 'routes':
        return routeView(findResolution(inspected.resolutions, scope)?.live?.config, request);
      case 'topology': {
        const resolution = findResolution(inspected.resolutions, scope);
        return topologyView(resolution && inspected.describePolicies(resolution), request);
      }
      case 'certificates':
        return createView(
          inspected.certificates.map(describeCertificates),
          request,
          toCertificateRow,
        );
      case 'events':
        return eventView(this.snapshot(target).changes, this.events.latest(), {
          ...request,
          target: scope,
        });
      default:
        return NO_ROWS;
    }
  }

  private snapshot(target: string): ClientSnapshot {
    const known = this.snapshots.get(target);
    if (known !== undefined) return known;
    const snapshot = this.clients.get(target)?.snapshot() ?? NO_SNAPSHOT;
    this.snapshots.set(target, snapshot);
    return snapshot;
  }

  private targetRow(inspected: InspectedProcess, id: string): Row {
    const { scope = '', nodeId = '' } = this.clients.get(id) ?? {};
    const { servers, resources } = this.snapshot(id);
    const { state, failure, waitingFor, config } = describeTarget(
      { ...inspected, describePolicies: () => undefined },
      scope,
    );
    return {
      ...{ id, target: cellText(scope.length > MAX_ID_LENGTH ? scope : id), state },
      nodeId: cellText(nodeId),
      reason: cellText(failure ?? waitingFor[0] ?? ''),
      waiting: waitingFor.length,
      ...(config && {
        listener: cellText(config.listener),
        routeConfig: cellText(config.routeConfig),
        clusters: config.clusters.length,
      }),
      resources: resources.length,
      problems: problemsOf(resources).length,
      servers: servers
        .map(({ serverUri, state: of }) => cellText(`${serverUri} ${of}`))
        .slice(0, 8),
    };
  }
}

function serverRow({ serverUri, state, lastError, retryInMs }: ServerSnapshot, index: number): Row {
  return {
    ...{ id: `${index}`, server: cellText(serverUri), state },
    ...(lastError !== undefined && { error: cellText(lastError) }),
    ...(retryInMs !== undefined && { retry: `in ${Math.ceil(retryInMs / 1000)} s` }),
  };
}

function toCertificateRow(
  { instance, plugin, name, identity, roots }: ReturnType<typeof describeCertificates>,
  index: number,
): Row {
  return {
    ...{
      id: `${index}`,
      instance: cellText(instance),
      plugin: cellText(plugin),
      name: cellText(name),
    },
    ...{ identity: describeCertificate(identity), roots: describeCertificate(roots) },
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
