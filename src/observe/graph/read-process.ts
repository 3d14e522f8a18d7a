import { listAt, numberAt, valueAt } from '../../util/value-at';
import type {
  GraphManagementServer,
  GraphProcess,
  GraphRelay,
  GraphShare,
} from './control-plane-graph';

/** Relays above each other that are read. */
const MAX_HOPS = 16;

/**
 * Reads what a process has the resources of a target from, of the report of it, such as one of a file, which may have anything.
 *
 * @returns undefined if the report does not say.
 */
export function readProcess(report: unknown, target: string): GraphProcess | undefined {
  const pid = valueAt(report, 'pid');
  const own = listAt(report, 'targets').find((each) => valueAt(each, 'target') === target);
  if (typeof pid !== 'number' || own === undefined) return undefined;
  return {
    ...{ pid, nodeId: textAt(own, 'nodeId'), version: textAt(report, 'version') },
    servers: listAt(own, 'servers').map((server) => readServer(server, MAX_HOPS)),
    shares: listAt(report, 'shares').map(readShare),
  };
}

function readServer(json: unknown, hops: number): GraphManagementServer {
  const retryInMs = valueAt(json, 'retryInMs');
  return {
    ...{ serverUri: textAt(json, 'serverUri'), state: textAt(json, 'state') },
    ...{ lastError: optionalAt(json, 'lastError'), failingSince: optionalAt(json, 'failingSince') },
    ...(typeof retryInMs === 'number' && { retryInMs }),
    shortStreams: numberAt(json, 'shortStreams'),
    relay: hops === 0 ? undefined : readRelay(valueAt(json, 'relay'), hops),
  };
}

function readRelay(json: unknown, hops: number): GraphRelay | undefined {
  const pid = valueAt(json, 'pid');
  if (typeof pid !== 'number') return undefined;
  const version = optionalAt(json, 'version');
  const servers = listAt(json, 'servers').map((each) => readServer(each, hops - 1));
  return { pid, ...(version !== undefined && { version }), servers };
}

function readShare(json: unknown): GraphShare {
  const [reason, since] = [optionalAt(json, 'reason'), optionalAt(json, 'since')];
  const [pid, clients] = [valueAt(json, 'pid'), valueAt(json, 'clients')];
  return {
    ...{ address: textAt(json, 'address'), upstream: textAt(json, 'upstream') },
    ...{ state: textAt(json, 'state'), role: textAt(json, 'role') },
    takeovers: numberAt(json, 'takeovers'),
    ...(reason !== undefined && { reason }),
    ...(since !== undefined && { since }),
    ...(typeof pid === 'number' && { pid }),
    ...(typeof clients === 'number' && { clients }),
  };
}

function optionalAt(json: unknown, name: string): string | undefined {
  const value = valueAt(json, name);
  return typeof value === 'string' ? value : undefined;
}

function textAt(json: unknown, name: string): string {
  return optionalAt(json, name) ?? '';
}
