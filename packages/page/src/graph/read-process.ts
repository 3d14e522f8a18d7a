import { listAt, numberAt, valueAt } from '../../../../src/util/value-at';
import type { GraphManagementServer, GraphProcess, GraphShare } from './control-plane-graph';

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
    pid,
    nodeId: textAt(own, 'nodeId'),
    version: textAt(report, 'version'),
    servers: listAt(own, 'servers').map(readServer),
    shares: listAt(report, 'shares').map(readShare),
  };
}

function readServer(json: unknown): GraphManagementServer {
  const retryInMs = valueAt(json, 'retryInMs');
  return {
    serverUri: textAt(json, 'serverUri'),
    state: textAt(json, 'state'),
    lastError: optionalAt(json, 'lastError'),
    failingSince: optionalAt(json, 'failingSince'),
    ...(typeof retryInMs === 'number' && { retryInMs }),
    shortStreams: numberAt(json, 'shortStreams'),
  };
}

function readShare(json: unknown): GraphShare {
  const [reason, since] = [optionalAt(json, 'reason'), optionalAt(json, 'since')];
  const [pid, clients] = [valueAt(json, 'pid'), valueAt(json, 'clients')];
  return {
    address: textAt(json, 'address'),
    upstream: textAt(json, 'upstream'),
    state: textAt(json, 'state'),
    role: textAt(json, 'role'),
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
