import { isJsonObject } from '../../../../src/wire/proto-json/json-object';
import { numberOf, objectsIn, textOf, type Json } from '../report-json';
import type { ProcessRow } from './process-row';

/** Counters have no id in the report of a server: each row has one of them. */
const ONLY = 0;

/** Returns a row for an address of a server, and below it its filter chains, its clients, and what was refused. */
export function rowsOfServer(json: Json): readonly ProcessRow[] {
  const server = textOf(json['address']);
  const { connections, calls, handshakes } = json;
  const row = (part: string, rest: Partial<ProcessRow>) => createRow(server, part, rest);
  return [
    row('', {
      ...callsOf(calls),
      ...connectionsOf(connections),
      state: textOf(json['state']),
    }),
    ...objectsIn(json['filterChains']).map((chain) => {
      const { name, state } = chainOf(chain);
      return row(`filter chain ${name}`, { state });
    }),
    ...objectsIn(isJsonObject(connections) ? connections['identities'] : []).map((client) => {
      const open = numberOf(client['connections']);
      return row(`client ${textOf(client['identity'])}`, { ready: open, endpoints: open });
    }),
    ...objectsIn(json['refusals']).map((refusal) =>
      row(`refused by ${refuserOf(refusal)}: ${textOf(refusal['status'])}`, {
        ended: failed(refusal['calls']),
      }),
    ),
    ...objectsIn(isJsonObject(handshakes) ? handshakes['failures'] : []).map((failure) =>
      row(`TLS handshakes: ${textOf(failure['cause'])}`, { ended: failed(failure['handshakes']) }),
    ),
  ];
}

function createRow(server: string, part: string, rest: Partial<ProcessRow>): ProcessRow {
  return {
    target: '',
    cluster: '',
    locality: '',
    server,
    part,
    ended: new Map(),
    inFlight: 0,
    latencyMs: undefined,
    ready: 0,
    endpoints: 0,
    state: '',
    ...rest,
  };
}

/**
 * Returns a row for a relay, and below it the management servers that it uses, its clients, and the calls that these have
 * reported. Of a client, `ready` and `endpoints` are the types that it has accepted and those that it subscribes to.
 */
export function rowsOfRelay(json: Json): readonly ProcessRow[] {
  const relay = `relay ${textOf(json['address'])}`;
  const clients = objectsIn(json['clients']).map((client) => {
    const types = objectsIn(client['types']);
    const isAccepted = (type: Json) => type['sentVersion'] === type['ackedVersion'];
    const isRejected = types.some((type) => type['rejection'] !== undefined);
    const ready = types.filter(isAccepted).length;
    const state = isRejected ? 'NACKED' : ready === types.length ? 'ACKED' : 'REQUESTED';
    return createRow(relay, nameOf('client', client), { ready, endpoints: types.length, state });
  });
  const loads = objectsIn(json['loadClients']).map((client) =>
    createRow(relay, nameOf('loads of', client), reportedCalls(client)),
  );
  const servers = objectsIn(json['servers']).map((server) =>
    createRow(relay, `server ${textOf(server['serverUri'])}`, { state: stateOf(server) }),
  );
  const total = {
    ended: new Map(loads.flatMap(({ ended }) => [...ended])),
    inFlight: loads.reduce((sum, { inFlight }) => sum + inFlight, 0),
    ready: clients.filter(({ state }) => state === 'ACKED').length,
    endpoints: clients.length,
  };
  return [createRow(relay, '', total), ...servers, ...clients, ...loads];
}

function nameOf(word: string, client: Json): string {
  return `${word} ${JSON.stringify(textOf(client['nodeId']))} (stream ${numberOf(client['streamId'])})`;
}

function stateOf(server: Json): string {
  const state = textOf(server['state']).toUpperCase();
  return server['lastError'] === undefined ? state : `${state}: ${textOf(server['lastError'])}`;
}

function reportedCalls(client: Json): Partial<ProcessRow> {
  const [issued, succeeded, failed] = [client['issued'], client['succeeded'], client['failed']];
  const ended = { succeeded: numberOf(succeeded), failed: numberOf(failed) };
  return {
    ended: new Map([[numberOf(client['streamId']), ended]]),
    inFlight: Math.max(0, numberOf(issued) - ended.succeeded - ended.failed),
  };
}

function chainOf(chain: Json): { readonly name: string; readonly state: string } {
  const { routes } = chain;
  const hasFailed = isJsonObject(routes) && routes['failure'] !== undefined;
  const name = textOf(chain['name']) || textOf(chain['match']);
  return { name, state: hasFailed ? 'NO ROUTES' : textOf(chain['tls']) };
}

/** Returns what refused calls: the policy, with its filter, as far as there are any. */
function refuserOf(refusal: Json): string {
  const filter = textOf(refusal['filter']);
  const policy = textOf(refusal['policy']);
  if (filter === '') return 'no filter';
  return policy === '' ? filter : `${filter}, policy ${policy}`;
}

function callsOf(calls: unknown): Partial<ProcessRow> {
  if (!isJsonObject(calls)) return {};
  const ended = { succeeded: numberOf(calls['succeeded']), failed: numberOf(calls['failed']) };
  return { ended: new Map([[ONLY, ended]]), inFlight: numberOf(calls['inProgress']) };
}

function failed(count: unknown): ProcessRow['ended'] {
  return new Map([[ONLY, { succeeded: 0, failed: numberOf(count) }]]);
}

/** Those that accept calls, of those that are open. */
function connectionsOf(connections: unknown): Partial<ProcessRow> {
  if (!isJsonObject(connections)) return {};
  const generations = objectsIn(connections['generations']);
  const draining = generations.reduce((sum, each) => sum + numberOf(each['draining']), 0);
  const endpoints = numberOf(connections['open']);
  return { endpoints, ready: endpoints - draining };
}
