import { status } from '@grpc/grpc-js';
import { servePage } from 'grpc-xds-page/internal';
import { failureText } from '../failure-text';
import { limitLogger } from '../limited-logger';
import { containLogger, silentLogger, type Logger } from '../../../../src/util/logger';
import { isJsonObject } from '../../../../src/wire/proto-json/json-object';
import type { SocketAddress } from '../arguments';
import type { RelayPage } from '../client/relay-page';
import { AdminClient } from '../dump/admin-client';
import { listening } from '../listening';
import {
  exitCode,
  formatTable,
  loadClient,
  printResult,
  untilInterrupted,
  type Cell,
  type CliIo,
  type OutputFlags,
} from '../io';
import { numberOf, objectsIn, parseJson, textOf, type Json } from '../report-json';

/** Flags of `relay`. */
export interface RelayFlags extends OutputFlags {
  /** `unix:/path`, or a loopback address and a port. */
  readonly listen?: string;
  /** The address of a relay that runs, which is shown instead. */
  readonly admin?: string;
  /** The port of 127.0.0.1 with the live page. */
  readonly page?: number;
  /** Where metrics are served: a port of 127.0.0.1, or an address with a port. */
  readonly metrics?: SocketAddress;
  /** The node that the management servers receive. Default: the relay's own. */
  readonly node?: 'own' | 'clients';
  /** Distinct nodes of clients. */
  readonly maxNodes?: number;
  /** Seconds for its response. */
  readonly timeout: number;
}

/** Runs a relay, or shows one that runs. */
export async function relay(flags: RelayFlags, io: CliIo): Promise<number> {
  const { listen, admin } = flags;
  if ((listen === undefined) === (admin === undefined)) {
    io.printError('error: give --listen to run a relay, or --admin to show a running one');
    return exitCode.badInput;
  }
  return listen === undefined ? showRelay(admin ?? '', flags, io) : runRelay(listen, flags, io);
}

/**
 * Relays the resources of the management servers of the environment's bootstrap to the clients of this machine until
 * interrupted, and their load reports to the servers.
 *
 * @returns the exit code; a bootstrap or an address that cannot be used is bad input.
 */
async function runRelay(listen: string, flags: RelayFlags, io: CliIo): Promise<number> {
  const closing: (() => unknown)[] = [];
  try {
    await serveRelay(listen, flags, { io, closing });
    return exitCode.fine;
  } catch (error) {
    io.printError(`error: ${failureText(error)}`);
    return exitCode.badInput;
  } finally {
    for (const close of closing) await close();
  }
}

/** Runs a relay until it is interrupted. @throws Error if an address cannot be used. */
async function serveRelay(
  listen: string,
  { page: pagePort, metrics, node, maxNodes }: RelayFlags,
  { io, closing }: { readonly io: CliIo; readonly closing: (() => unknown)[] },
): Promise<void> {
  const { loadRelay, loadRelayMetrics, loadRelayPage, readBootstrapSource } = loadClient();
  // The relay would name an option of its class.
  const read = readBootstrapSource({ env: io.env, otherwise: '' });
  if (!read.ok) throw new Error(read.error.message);
  const page = new (loadRelayPage().RelayPage)(() => started.inspect(), io.clock);
  const logger = createLogger(io, page);
  // Before the relay, which is observed from its start on.
  if (metrics !== undefined) {
    const serving = loadRelayMetrics().serveRelayMetrics(metrics);
    const served = await listening(serving, '--metrics chooses another address');
    closing.push(() => served.close());
    io.print(`Metrics: ${served.url}`);
  }
  const started = new (loadRelay().Relay)({
    listen,
    env: io.env,
    logger,
    ...(node !== undefined && { node }),
    ...(maxNodes !== undefined && { maxNodes }),
  });
  const address = await listening(started.start(), '--listen chooses another address');
  closing.unshift(() => started.close());
  if (pagePort !== undefined) {
    const serving = servePage({ port: pagePort }, () => page, io.clock);
    const served = await listening(serving, '--page chooses another port');
    closing.push(() => served.close());
    io.print(`Live page: ${served.url}`);
  }
  io.print(`Relaying on ${address}`);
  io.print(`Bootstrap for clients: "server_uri": ${JSON.stringify(address)}`);
  await untilInterrupted(io);
  io.print(stamped('stopping', io));
}

function createLogger(io: CliIo, page: RelayPage): Logger {
  const logger: Logger = {
    ...silentLogger,
    info: (text) => {
      io.print(stamped(text(), io));
      page.log('info', text());
    },
    error: (text) => {
      io.printError(stamped(text(), io));
      page.log('failed', text());
    },
  };
  return containLogger(limitLogger(logger, io.clock));
}

function stamped(text: string, { clock }: CliIo): string {
  return `${new Date(clock.now()).toISOString().slice(11, 19)}Z ${text}`;
}

/**
 * Shows a relay: the servers above it, what it has of each type, its clients, and the calls that these have reported.
 *
 * @returns the exit code: findings, if it has nothing to serve because no server can be reached; unreachable, if there is no relay.
 */
async function showRelay(address: string, flags: RelayFlags, io: CliIo): Promise<number> {
  const client = new AdminClient(address, flags.timeout * 1000);
  const inspected = await client.inspectRelay();
  client.close();
  if (!inspected.ok) {
    const isOther = inspected.error.code === status.UNIMPLEMENTED;
    io.printError(isOther ? `--admin ${address}: is no relay` : inspected.error.text);
    return exitCode.unreachable;
  }
  const report = parseJson(inspected.value);
  const shown = isJsonObject(report) ? report['relay'] : undefined;
  if (!isJsonObject(shown)) {
    io.printError(`--admin ${address}: the report is of another version of grpc-xds`);
    return exitCode.badInput;
  }
  printResult(shown, flags, io, () => {
    for (const line of formatRelay(shown)) io.print(line);
  });
  const servers = objectsIn(shown['servers']);
  const hasServer = servers.length === 0 || servers.some((each) => each['lastError'] === undefined);
  const hasResources = objectsIn(shown['types']).some((type) => numberOf(type['resources']) > 0);
  return hasServer || hasResources ? exitCode.fine : exitCode.findings;
}

type Row = readonly Cell[];

function formatRelay(report: Json): readonly string[] {
  const clients = objectsIn(report['clients']);
  const left = numberOf(report['clientCount']) - clients.length;
  const node = JSON.stringify(textOf(report['nodeId']));
  const nodes = objectsIn(report['nodes']);
  const isOwn = report['node'] !== 'clients';
  const whose = isOwn ? `node ${node}` : `${nodes.length} nodes of clients`;
  const version = textOf(report['version']);
  const about = version === '' ? whose : `grpc-xds ${version}, ${whose}`;
  return [
    `relay (pid ${numberOf(report['pid'])}) on ${textOf(report['address'])}, ${about}`,
    ...formatRows(['server', 'state', 'last error'], report['servers'], rowOfServer),
    ...formatRows(['type', ...COUNTS], report['types'], rowOfType),
    ...formatRows(
      ['node', 'cluster', 'clients', 'state', ...COUNTS],
      isOwn ? [] : nodes,
      rowOfNode,
    ),
    ...formatRows(['stream', 'client', 'type', 'names', 'state'], clients, rowsOfClient),
    ...formatRows(['stream', 'client', ...CONNECTION], clients, rowOfConnection),
    ...(left > 0 ? [`and ${left} more clients`] : []),
    ...formatRows(['stream', 'loads of', ...CALLS], report['loadClients'], rowOfLoads),
  ];
}

/** Formats the rows that follow from a list, after an empty line; nothing if there are none. */
function formatRows(
  titles: readonly string[],
  list: unknown,
  rowsOf: (json: Json) => readonly Row[],
): readonly string[] {
  const rows = objectsIn(list).flatMap(rowsOf);
  return rows.length === 0 ? [] : ['', ...formatTable(titles, rows)];
}

function rowOfServer(server: Json): readonly Row[] {
  return [[textOf(server['serverUri']), textOf(server['state']), textOf(server['lastError'])]];
}

function rowOfType(type: Json): readonly Row[] {
  return [[typeOf(type), ...COUNTS.map((name) => numberOf(type[name]))]];
}

/** The counts are those of all its types. */
function rowOfNode(node: Json): readonly Row[] {
  const types = objectsIn(node['types']);
  const states = objectsIn(node['servers']).map(({ state }) => textOf(state));
  const sums = COUNTS.map((name) => types.reduce((sum, type) => sum + numberOf(type[name]), 0));
  const own = [textOf(node['nodeId']), textOf(node['cluster']), numberOf(node['clients'])];
  return [[...own, states.join(', '), ...sums]];
}

function rowsOfClient(client: Json): readonly Row[] {
  const own = [numberOf(client['streamId']), textOf(client['nodeId'])];
  return objectsIn(client['types']).map((type) => [
    ...own,
    typeOf(type),
    numberOf(type['names']),
    stateOfType(type),
  ]);
}

/** What is not known is left empty. */
function rowOfConnection(client: Json): readonly Row[] {
  const agent = [textOf(client['userAgentName']), textOf(client['userAgentVersion'])];
  const connectedAt = new Date(Number(client['connectedAtMs']));
  return [
    [
      numberOf(client['streamId']),
      textOf(client['nodeId']),
      agent.join(' ').trim(),
      textOf(client['peer']),
      timeOf(connectedAt),
    ],
  ];
}

/** Another process may report a time that there is not. */
function timeOf(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

function rowOfLoads(client: Json): readonly Row[] {
  const own = [numberOf(client['streamId']), textOf(client['nodeId'])];
  return [[...own, ...CALLS.map((name) => numberOf(client[name]))]];
}

const COUNTS = ['names', 'resources', 'errors', 'absent'] as const;
const CONNECTION = ['user agent', 'address', 'connected'] as const;
const CALLS = ['issued', 'succeeded', 'failed', 'dropped'] as const;

function typeOf(type: Json): string {
  const typeUrl = textOf(type['typeUrl']);
  return typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
}

function stateOfType(type: Json): string {
  if (type['rejection'] !== undefined) return `rejected: ${textOf(type['rejection'])}`;
  return type['sentVersion'] === type['ackedVersion'] ? 'acknowledged' : 'waiting';
}
