import {
  graphRows,
  buildRelayGraph,
  cellText,
  createView,
  NO_ROWS,
  type Row,
  type View,
  type ViewRequest,
  LoggedPage,
  stateOfTypes,
  streamRow,
  typeRow,
  type AnswerState,
} from 'grpc-xds-page/internal';
import type { RelayClientReport, RelayReport } from 'grpc-xds-relay';
import type { Clock } from '../../../../src/util/clock';
import { cutText, shortName } from '../../../../src/util/text';
import { PACKAGE_VERSION } from '../../../../src/util/version';
import type { ServerSnapshot } from 'grpc-xds';
import { differenceView, ownDifferences } from './client-differences';
import {
  compareClients,
  describeComparison,
  type ComparedClient,
  type Comparison,
} from './compare-clients';

/** Characters that are shown of a user agent, and of its version. */
const MAX_AGENT = 128;

type TypeOfClient = RelayClientReport['types'][number];

/** What the live page shows of a relay: its clients, what each acknowledged and rejected, the servers above it, and the log. */
export class RelayPage extends LoggedPage<Shown> {
  readonly about = {
    kind: 'relay',
    title: `grpc-xds ${PACKAGE_VERSION}, relay (pid ${process.pid})`,
  } as const;

  constructor(
    private readonly inspect: () => RelayReport,
    clock: Pick<Clock, 'now'>,
  ) {
    super(clock);
  }

  protected read(): Shown {
    return readClients(this.inspect());
  }

  protected view(shown: () => Shown, request: ViewRequest): View {
    const report = () => shown().report;
    switch (request.name) {
      case 'clients':
        return createView(report().clients, request, (client, index) => ({
          ...clientRow(client),
          differs: ownDifferences(shown().comparison, index),
          verdict: cellText(shown().verdict),
        }));
      case 'connections':
        return createView(report().clients, request, connectionRow);
      case 'graph':
        return relayGraphView(report(), request);
      case 'differences':
        return differenceView(shown().comparison, shown().compared, request);
      case 'types': {
        const client = report().clients.find(({ streamId }) => `${streamId}` === request.target);
        return createView(client?.types ?? [], request, subscriptionRow);
      }
      case 'upstream':
        return createView(report().servers, request, serverRow);
      case 'relayed':
        return createView(report().types, request, ({ typeUrl, ...counts }) => ({
          id: typeUrl,
          type: shortName(typeUrl),
          ...counts,
        }));
      case 'loads':
        return createView(report().loadClients, request, ({ streamId, nodeId, ...calls }) => ({
          id: `${streamId}`,
          node: cellText(nodeId),
          ...calls,
        }));
      default:
        return NO_ROWS;
    }
  }
}

/** The report of a relay, with its clients side by side. */
interface Shown {
  readonly report: RelayReport;
  readonly compared: readonly ComparedClient[];
  readonly comparison: Comparison;
  /** In one line. */
  readonly verdict: string;
}

function readClients(report: RelayReport): Shown {
  const compared = report.clients.map((client) => ({
    name: nameOfClient(client),
    facts: answersOf(client),
  }));
  const comparison = compareClients(compared);
  const verdict = describeComparison(comparison, compared);
  return { report, compared, comparison, verdict };
}

/**
 * Returns what is compared of a client: how it has answered for each type. Versions are not compared, since clients that
 * subscribe to other names have others.
 */
function answersOf({ types }: RelayClientReport): ReadonlyMap<string, string> {
  return new Map(types.map((type) => [shortName(type.typeUrl), describeAnswer(type)]));
}

function describeAnswer({ rejection, sentVersion, ackedVersion }: TypeOfClient): string {
  if (rejection !== undefined) return `rejected: ${rejection}`;
  if (sentVersion === ackedVersion) return 'acknowledged';
  return `waiting, acknowledged ${ackedVersion ?? 'nothing'}`;
}

function clientRow(client: RelayClientReport): Row {
  const rejection = client.types.find((type) => type.rejection !== undefined)?.rejection;
  const about = describeConnection(client).join(', ');
  return {
    ...streamRow(client),
    stream: client.streamId,
    state: stateOfTypes(client.types),
    ...(about !== '' && { about: cellText(about) }),
    ...(rejection !== undefined && { reason: cellText(rejection) }),
  };
}

function connectionRow(client: RelayClientReport): Row {
  const { peer, userAgentName, userAgentVersion } = client;
  return {
    ...streamRow(client),
    stream: client.streamId,
    ...(userAgentName !== '' && { agent: agentText(userAgentName) }),
    ...(userAgentVersion !== '' && { version: agentText(userAgentVersion) }),
    ...(peer !== undefined && { peer: cellText(peer) }),
  };
}

/** What is known of who connects, and from where. */
function describeConnection(client: RelayClientReport): readonly string[] {
  const { peer, userAgentName, userAgentVersion } = client;
  const agent = [userAgentName, userAgentVersion].filter((text) => text !== '');
  return [
    ...(agent.length === 0 ? [] : [agent.map(agentText).join(' ')]),
    ...(peer === undefined ? [] : [`from ${peer}`]),
  ];
}

function agentText(text: string): string {
  return cellText(cutText(text, MAX_AGENT));
}

/** The states of clients in the graph. */
const GRAPH_STATES = {
  rejected: 'failing',
  waiting: 'waiting',
  acknowledged: 'ready',
} as const satisfies Readonly<Record<AnswerState, string>>;

function relayGraphView(report: RelayReport, request: ViewRequest): View {
  const { address = 'no address', pid, servers, clients } = report;
  const drawn = clients.map((client) => ({
    name: nameOfClient(client),
    state: GRAPH_STATES[stateOfTypes(client.types)],
    text: describeClient(client),
  }));
  const relay = { address, pid, version: PACKAGE_VERSION, servers, clients: drawn };
  return graphRows(buildRelayGraph(relay), request);
}

function describeClient(client: RelayClientReport): string {
  const { types, connectedAtMs } = client;
  const versions = types.map((type) => {
    const rejected = type.rejection === undefined ? '' : ` (rejected: ${type.rejection})`;
    return `${shortName(type.typeUrl)} ${type.ackedVersion ?? 'without a version'}${rejected}`;
  });
  const since = `connected since ${new Date(connectedAtMs).toISOString()}`;
  return [...describeConnection(client), since, ...versions].join(', ');
}

function nameOfClient({
  nodeId,
  streamId,
}: Pick<RelayClientReport, 'nodeId' | 'streamId'>): string {
  return `${nodeId === '' ? 'client' : nodeId} (stream ${streamId})`;
}

function subscriptionRow(type: TypeOfClient): Row {
  const { names, rejection } = type;
  return typeRow(type, `${names}`, rejection === undefined ? undefined : `: ${rejection}`);
}

function serverRow({ serverUri, state, lastError }: ServerSnapshot, index: number): Row {
  return {
    id: `${index}`,
    state,
    server: cellText(serverUri),
    ...(lastError !== undefined && { error: cellText(lastError) }),
  };
}
