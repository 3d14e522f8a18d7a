import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { Findings, type DoctorContext } from '../../../packages/cli/src/client/doctor/finding';
import { checkEndpoints } from '../../../packages/cli/src/client/doctor/target-checks';
import { ChannelWatch } from '../../../packages/cli/src/watch/channel-watch';
import { readSample } from '../../../packages/cli/src/watch/process-sample';
import { countPlaces, findTrouble } from '../../../packages/page/src/process/faults';
import { ConnectivityState } from '../../../src/grpc-js';
import type { XdsConfig } from '../../../src/dependency-manager/xds-config';
import { FailingEndpoints } from '../../../src/lb/cds/cluster-log';
import { describeConnecting, EndpointErrors } from '../../../src/lb/endpoints/endpoint-errors';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { LbBatch } from '../../../src/lb/tree/lb-batch';
import type { EndpointState, PolicyState } from '../../../src/lb/tree/policy-state';
import { rollUpTarget } from '../../../src/observe/admin/roll-up';
import { noMetadata } from '../../../src/resources/endpoints/endpoints';
import { systemClock } from '../../../src/util/clock';
import { countEndpoints } from '../../../src/util/endpoint-counts';
import { silentLogger } from '../../../src/util/logger';
import { FakeIo } from '../../cli/fake-io';
import { FakeClock } from '../../support/fake-clock';
import { clusterPolicies, endpointState, policiesWith } from '../../support/graphs';

const STATES: Readonly<Record<string, Partial<EndpointState>>> = {
  R: { state: 'READY' },
  C: { state: 'CONNECTING' },
  I: { state: 'IDLE' },
  F: { state: 'TRANSIENT_FAILURE', error: 'refused' },
  // Ejected by outlier detection.
  E: { state: 'READY', ejected: true },
  // They take no new calls.
  d: { state: 'READY', health: 'DRAINING' },
  f: { state: 'TRANSIENT_FAILURE', error: 'refused', health: 'DRAINING' },
};

/** Describes a cluster whose endpoints have these states, a letter each; `|` is before the next priority. */
function clusterWith(letters: string): PolicyState {
  const priorities = letters
    .split('|')
    .map((own, priority) =>
      own.split('').map((letter, i) => endpointState(`10.0.${priority}.${i}:80`, STATES[letter])),
    );
  return policiesWith(clusterPolicies('echo', priorities));
}

/** Returns the line of the log, as the cluster writes it a second after its endpoints have failed. */
function logged(policies: PolicyState): string {
  const lines: string[] = [];
  const clock = new FakeClock();
  const batch = new LbBatch((error) => {
    throw error;
  });
  const logger = { ...silentLogger, error: (text: () => string) => lines.push(text()) };
  const log = new FailingEndpoints({ clock, logger, batch }, () => ({
    name: 'echo',
    state: ConnectivityState.READY,
    localities: [],
    count: () => countEndpoints(policies),
  }));
  const priorities = policies.children?.[0]?.children ?? [];
  for (const { state, ejected, health, weight } of priorities.flatMap(
    (each) => each.endpoints ?? [],
  ))
    if (state === 'TRANSIENT_FAILURE' || ejected === true) {
      const rest = { hostname: '', hashKey: undefined, metadata: noMetadata };
      const endpoint = { addresses: [{ host: '10.0.0.1', port: 80 }], health, weight, ...rest };
      log.onFailed({ endpoint, errorMessage: 'refused' });
    }
  clock.advance(1000);
  log.release();
  return lines.join('\n');
}

/** Returns what `grpc-xds watch` prints of a target. */
async function watched(policies: PolicyState): Promise<string> {
  const io = new FakeIo();
  const report = {
    target: 'xds:///echo',
    nodeId: 'node',
    state: 'ready' as const,
    rollUp: rollUpTarget({ state: 'ready', waitingFor: [], policies }),
    waitingFor: [],
    heldBack: [],
    channels: [],
    servers: [],
    resources: [],
    changes: [],
    policies,
  };
  const channel = { report: () => report, release: () => undefined };
  await new ChannelWatch(
    'xds:///echo',
    channel,
    { timeout: 0.001, output: 'table', color: false },
    io,
  ).run();
  return io.out.join('\n');
}

/** Returns the row of the target that `grpc-xds watch --page` prints. */
function rowOf(policies: PolicyState) {
  const report = { schema: 1, time: '', targets: [{ target: 'xds:///echo', policies }] };
  const [row] = readSample(JSON.stringify(report), undefined)?.rows ?? [];
  return row && [row.ready, row.endpoints];
}

/** The endpoints of a cluster as its leaves, with the states of their connections. */
const leavesOf = (letters: string) =>
  letters.split('').map((letter, i) => {
    const { state = 'READY', health = 'UNKNOWN' } = STATES[letter] ?? {};
    const addresses = [{ host: `10.0.0.${i}`, port: 80 }];
    const rest = { hostname: '', weight: 1, hashKey: undefined, metadata: noMetadata };
    const endpoint = { addresses, health, ...rest };
    const connectingMs = state === 'CONNECTING' ? 1000 : undefined;
    return { endpoint, state: ConnectivityState[state], connectingMs };
  });

/** Returns the status of a call that waits for these endpoints. */
function awaited(letters: string): string {
  const leaves = leavesOf(letters);
  const set = { localities: [] } as unknown as EndpointSet;
  return describeConnecting(leaves, leaves.length, set, new EndpointErrors());
}

/** Returns what `grpc-xds doctor` says of a locality whose endpoints that are READY listen. */
async function examined(letters: string): Promise<string> {
  const listening = createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  const endpoints = leavesOf(letters).map(({ endpoint, state }) => ({
    ...endpoint,
    addresses: [{ host: '127.0.0.1', port: state === ConnectivityState.READY ? port : 1 }],
  }));
  const locality = { region: '', zone: 'a', subZone: '' };
  const priorities = [{ localities: [{ locality, endpoints }] }];
  const value = { children: { kind: 'endpoints', endpoints: { priorities } } };
  const config = { clusters: new Map([['echo', { ok: true, value }]]) } as unknown as XdsConfig;
  const texts: string[] = [];
  const findings = new Findings(({ text }) => texts.push(text));
  const context = { clock: systemClock, stepMs: 5000, findings } as unknown as DoctorContext;
  await checkEndpoints(config, context);
  listening.close();
  return texts.join('\n');
}

const numbersIn = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, ...numbers]) => numbers.map(Number));

describe('the numbers of endpoints', () => {
  it.each<[string, { ready: number; failing: number; total: number }]>([
    ['RRR', { ready: 3, failing: 0, total: 3 }],
    ['RRF', { ready: 2, failing: 1, total: 3 }],
    ['RFFC', { ready: 1, failing: 2, total: 4 }],
    ['RFI', { ready: 1, failing: 1, total: 3 }],
    ['RE', { ready: 1, failing: 1, total: 2 }],
    ['RFd', { ready: 1, failing: 1, total: 2 }],
    ['RFf', { ready: 1, failing: 1, total: 2 }],
    ['Rf', { ready: 1, failing: 0, total: 1 }],
    ['RF|III', { ready: 1, failing: 1, total: 2 }],
    ['RF|RFI', { ready: 2, failing: 2, total: 4 }],
  ])('of %s are the same in the log, inspect(), the page and watch', async (letters, counts) => {
    const policies = clusterWith(letters);
    const { ready, failing, total } = counts;
    const failures = failing === 0 ? [] : [[failing, total]];
    expect(countEndpoints(policies)).toMatchObject(counts);
    expect(numbersIn(logged(policies), /(\d+) of (\d+) endpoints failing/g)).toEqual(failures);
    const { text } = rollUpTarget({ state: 'ready', waitingFor: [], policies });
    expect(numbersIn(text, /(\d+) of (\d+) endpoints? fail/g)).toEqual(failures);
    const places = [...countPlaces(findTrouble(policies)).values()].join('\n');
    expect(numbersIn(places, /(\d+) of (\d+) endpoints? fail/g)).toEqual(failures);
    const parts = numbersIn(await watched(policies), /p\d - (\d+)\/(\d+)/g);
    const sumOf = (index: number) => parts.reduce((sum, part) => sum + (part[index] ?? 0), 0);
    expect([sumOf(0), sumOf(1)]).toEqual([ready, total]);
    expect(rowOf(policies)).toEqual([ready, total]);
  });

  it.each<[string, { waiting: number; total: number }]>([
    ['C', { waiting: 1, total: 1 }],
    ['CCI', { waiting: 2, total: 3 }],
    ['CFF', { waiting: 1, total: 3 }],
    ['CFd', { waiting: 1, total: 2 }],
    ['Cff', { waiting: 1, total: 1 }],
  ])('of %s are the same in inspect() and the status of a call', async (letters, counts) => {
    const policies = clusterWith(letters);
    const { waiting, total } = counts;
    expect(countEndpoints(policies)).toMatchObject(counts);
    expect(numbersIn(awaited(letters), /(\d+) of (\d+) connecting/g)).toEqual([[waiting, total]]);
    expect(rowOf(policies)).toEqual([0, total]);
  });

  it.each<[string, { ready: number; total: number }]>([
    ['RR', { ready: 2, total: 2 }],
    ['RRF', { ready: 2, total: 3 }],
    ['FF', { ready: 0, total: 2 }],
    ['RFdf', { ready: 1, total: 2 }],
  ])('of %s are the same in inspect() and doctor', async (letters, counts) => {
    const { ready, total } = counts;
    expect(countEndpoints(clusterWith(letters))).toMatchObject(counts);
    const numbers = numbersIn(await examined(letters), /(\d+) of (\d+) endpoints accept/g);
    expect(numbers).toEqual([[ready, total]]);
  });
});
