import {
  countStates,
  localityName,
  rollUpEndpoint,
  type CountedEndpoint,
} from '../../../../src/util/endpoint-counts';
import { RELAY_TARGET, SERVER_TARGET } from '../../../../src/util/report-targets';
import { isJsonObject } from '../../../../src/wire/proto-json/json-object';
import { numberOf, objectsIn, parseJson, textOf, type Json } from '../report-json';
import { rowsOfRelay, rowsOfServer } from './server-rows';
import type { EndedCalls, ProcessRow } from './process-row';

/** The rows of a process at one moment. */
export interface ProcessSample {
  /** Milliseconds, of the clock of that process. */
  readonly atMs: number;
  /** `undefined` if the source does not say. */
  readonly pid: number | undefined;
  /** When the process started, in ISO 8601; empty if the source does not say. */
  readonly startedAt: string;
  readonly rows: readonly ProcessRow[];
}

/** Rows of a sample; those beyond are left out. */
const MAX_ROWS = 2000;
/** Policies are not deeper, whatever a report says. */
const MAX_DEPTH = 32;

/**
 * Reads the report that `inspect()` returns.
 *
 * @param target The only target that is read. Default: all.
 * @returns `undefined` for another text.
 */
export function readSample(text: string, target: string | undefined): ProcessSample | undefined {
  const report = parseJson(text);
  if (!isJsonObject(report) || report['schema'] !== 1) return undefined;
  const targets = objectsIn(report['targets']).filter(
    (each) => target === undefined || each['target'] === target,
  );
  const isWithServers = target === undefined || target === SERVER_TARGET;
  const servers = isWithServers ? objectsIn(report['servers']) : [];
  const isWithRelay = target === undefined || target === RELAY_TARGET;
  const relay = isWithRelay && isJsonObject(report['relay']) ? rowsOfRelay(report['relay']) : [];
  const all = [...targets.flatMap(rowsOfTarget), ...servers.flatMap(rowsOfServer), ...relay];
  const rows = all.slice(0, MAX_ROWS);
  const pid = report['pid'] === undefined ? undefined : numberOf(report['pid']);
  const startedAt = textOf(report['startedAt']);
  const atMs = Date.parse(textOf(report['time']));
  return { atMs, pid, startedAt, rows };
}

/** The members of rows of targets. */
const NO_SERVER = { server: '', part: '' } as const;

function rowsOfTarget(json: Json): readonly ProcessRow[] {
  const target = textOf(json['target']);
  const channels = objectsIn(json['channels']);
  const subchannels = channels.flatMap((channel) => objectsIn(channel['subchannels']));
  const byAddress = new Map<string, Json[]>();
  for (const each of subchannels) {
    const address = textOf(each['address']);
    byAddress.set(address, [...(byAddress.get(address) ?? []), each]);
  }
  const policies = json['policies'];
  const clusters = isJsonObject(policies)
    ? objectsIn(policies['children']).flatMap((child) => rowsOfCluster(target, child, byAddress))
    : [];
  const tops = clusters.filter(({ locality }) => locality === '');
  const state = isJsonObject(policies) ? textOf(policies['state']) : textOf(json['state']);
  const own = { ...NO_SERVER, target, cluster: '', locality: '', state: state.toUpperCase() };
  return [{ ...own, ...sum(tops), ended: endedOf(channels) }, ...clusters];
}

function rowsOfCluster(
  target: string,
  child: Json,
  byAddress: ReadonlyMap<string, readonly Json[]>,
): readonly ProcessRow[] {
  const details = isJsonObject(child['details']) ? child['details'] : {};
  const cluster = textOf(details['cluster']) || textOf(child['name']);
  const state = textOf(child['state']);
  const localities = new Map<string, ListedEndpoint[]>();
  collectEndpoints(child, { locality: '-', isInUse: true, depth: 0 }, localities);
  const rows = [...localities].map(([locality, endpoints]): ProcessRow => {
    const own = { ...NO_SERVER, target, cluster, locality, state: '' };
    return { ...own, ...measure(endpoints, byAddress) };
  });
  const total = sum(rows);
  const ended = new Map(rows.flatMap((row) => [...row.ended]));
  return [{ ...NO_SERVER, target, cluster, locality: '', state, ...total, ended }, ...rows];
}

interface ListedEndpoint {
  readonly json: Json;
  /** Whether calls reach its policy. */
  readonly isInUse: boolean;
}

/** Finds the endpoints below a policy by their locality. */
function collectEndpoints(
  policy: Json,
  { locality, isInUse, depth }: { locality: string; isInUse: boolean; depth: number },
  found: Map<string, ListedEndpoint[]>,
): void {
  const role = isJsonObject(policy['role']) ? policy['role'] : {};
  const isReached = isInUse && role['inUse'] !== false;
  const endpoints = objectsIn(policy['endpoints']).map((json) => ({ json, isInUse: isReached }));
  if (endpoints.length > 0) found.set(locality, [...(found.get(locality) ?? []), ...endpoints]);
  if (depth === MAX_DEPTH) return;
  for (const child of objectsIn(policy['children'])) {
    const own = localityName(textOf(child['name']));
    const inside = own === undefined ? locality : own || '-';
    collectEndpoints(child, { locality: inside, isInUse: isReached, depth: depth + 1 }, found);
  }
}

/** Reads what an endpoint comes to; `undefined` if it does not count. */
function stateOf({ json, isInUse }: ListedEndpoint) {
  const state = textOf(json['state']);
  return isStateName(state)
    ? rollUpEndpoint(
        {
          state,
          health: textOf(json['health']),
          ...(json['ejected'] === true && { ejected: true }),
        },
        isInUse,
      )
    : undefined;
}

function isStateName(state: string): state is CountedEndpoint['state'] {
  return ['IDLE', 'CONNECTING', 'READY', 'TRANSIENT_FAILURE', 'SHUTDOWN'].includes(state);
}

type Measures = Pick<ProcessRow, 'ended' | 'inFlight' | 'latencyMs' | 'ready' | 'endpoints'>;

function measure(
  listed: readonly ListedEndpoint[],
  byAddress: ReadonlyMap<string, readonly Json[]>,
): Measures {
  const endpoints = listed.map(({ json }) => json);
  const { ready, total } = countStates(listed.map(stateOf));
  const subchannels = endpoints.flatMap((endpoint) => {
    const addresses = Array.isArray(endpoint['addresses']) ? endpoint['addresses'] : [];
    return addresses.flatMap((address) => byAddress.get(textOf(address)) ?? []);
  });
  const latencies = endpoints.flatMap((endpoint) =>
    typeof endpoint['latencyMs'] === 'number' ? [endpoint['latencyMs']] : [],
  );
  return {
    ended: endedOf(subchannels),
    inFlight: endpoints.reduce((total, each) => total + numberOf(each['callsInFlight']), 0),
    latencyMs: average(latencies),
    ready,
    endpoints: total,
  };
}

function endedOf(entities: readonly Json[]): ReadonlyMap<number, EndedCalls> {
  return new Map(
    entities.map((entity) => {
      const calls = isJsonObject(entity['calls']) ? entity['calls'] : {};
      const ended = { succeeded: numberOf(calls['succeeded']), failed: numberOf(calls['failed']) };
      return [numberOf(entity['id']), ended];
    }),
  );
}

function sum(rows: readonly ProcessRow[]): Omit<Measures, 'ended'> {
  const add = (value: (row: ProcessRow) => number) =>
    rows.reduce((all, row) => all + value(row), 0);
  return {
    inFlight: add((row) => row.inFlight),
    latencyMs: average(rows.flatMap((row) => row.latencyMs ?? [])),
    ready: add((row) => row.ready),
    endpoints: add((row) => row.endpoints),
  };
}

function average(values: readonly number[]): number | undefined {
  return values.length === 0
    ? undefined
    : values.reduce((total, value) => total + value, 0) / values.length;
}

/** The calls of a row in the time between two samples. */
export interface CallRates {
  /** Calls that ended, per second. */
  readonly callsPerSecond: number;
  readonly failedPerSecond: number;
}

/** Returns the rates of a row; `undefined` if it was not in the sample before. */
export function ratesOf(
  row: ProcessRow,
  sample: ProcessSample,
  before: ProcessSample | undefined,
): CallRates | undefined {
  const earlier = before?.rows.find(
    ({ target, cluster, locality, server, part }) =>
      target === row.target &&
      cluster === row.cluster &&
      locality === row.locality &&
      server === row.server &&
      part === row.part,
  );
  const seconds = before === undefined ? 0 : (sample.atMs - before.atMs) / 1000;
  // Another process counts from zero, though it serves the same page.
  if (before?.pid !== sample.pid || before?.startedAt !== sample.startedAt) return undefined;
  if (earlier === undefined || !(seconds > 0)) return undefined;
  let [succeeded, failed] = [0, 0];
  for (const [id, now] of row.ended) {
    // One that is new since has no calls of an earlier time.
    const then = earlier.ended.get(id) ?? { succeeded: 0, failed: 0 };
    succeeded += Math.max(0, now.succeeded - then.succeeded);
    failed += Math.max(0, now.failed - then.failed);
  }
  return { callsPerSecond: (succeeded + failed) / seconds, failedPerSecond: failed / seconds };
}
