import { ServerCredentials, status } from '@grpc/grpc-js';
import type { FilterChain } from '../../../src/resources/listener/listener';
import { describeServer, type ServerState } from '../../../src/server/observation/describe-server';
import { ServerEvents } from '../../../src/server/observation/server-events';
import { silentLogger } from '../../../src/util/logger';
import { ok } from '../../../src/util/result';
import { types } from '../../resources/decode-json';
import { FakeClock } from '../../support/fake-clock';

const clock = new FakeClock();
const received = () =>
  new ServerEvents({
    address: 'a',
    nodeId: 'n',
    subject: '',
    stats: undefined,
    clock,
    logger: silentLogger,
  });

/** Reports an address with these connections and chains. */
function report(events: ServerEvents, identities: number, chainCount: number) {
  const connection = (i: number) => ({
    accepts: i % 2 === 0,
    described: ok({
      local: { address: '', port: 0 },
      remote: { address: '', port: 0 },
      tls: { peer: { uriSans: [`spiffe://td/${i}`], dnsSans: [], subject: '' } },
    }),
  });
  const chain = (i: number): FilterChain => ({
    name: `chain ${i}`,
    tls: undefined,
    httpConnectionManager: {
      routes: { kind: 'rds', routeConfigName: 'r' },
      httpFilters: [],
      maxStreamDurationMs: undefined,
    },
  });
  const served = { isSecure: false, routeFailure: 'none yet' };
  const current = {
    sinceMs: 0,
    chains: new Map(range(chainCount).map((i) => [chain(i), served] as const)),
  };
  const state = {
    address: { text: 'a' },
    listenerName: 'l',
    client: {
      bootstrap: { node: { id: 'n' } },
      client: { resources: () => [][Symbol.iterator](), waitingFor: () => [] },
      types,
    },
    status: { notServing: undefined, sinceMs: 0 },
    connections: new Set(range(identities).map((i) => ({ ...connection(i), snapshot: current }))),
    events,
    fallback: ServerCredentials.createInsecure(),
    current,
  };
  return describeServer(state as unknown as ServerState);
}

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

it('names at most 100 clients and filter chains, and the number of the others', () => {
  const { connections, filterChains, otherFilterChains } = report(received(), 1000, 1000);
  expect(connections).toMatchObject({
    open: 1000,
    otherIdentities: 900,
    generations: [{ connections: 1000, draining: 500 }],
  });
  expect(connections.identities).toHaveLength(100);
  expect(filterChains).toHaveLength(100);
  expect(filterChains[0]).toEqual({
    name: 'chain 0',
    match: 'default',
    tls: 'plain text',
    rbac: [],
    routes: { name: 'r', failure: 'none yet' },
  });
  expect(otherFilterChains).toBe(900);
});

it('counts 200 kinds of refusals, and the others as one, whatever a control plane calls its policies', () => {
  const events = received();
  const refusal = { code: status.PERMISSION_DENIED, details: '', reason: '' };
  const path = '/a.B/C';
  const decidedBy = { filter: 'rbac', action: 'deny' } as const;
  for (let i = 0; i < 1000; i++) {
    events.onJudged('', { path }, { ...refusal, policy: `policy ${i}`, decidedBy });
    events.onHandshake(`CAUSE_${i}`);
  }
  events.onJudged('', { path }, { ...refusal, policy: 'policy 7', decidedBy });
  events.onHandshake();
  expect(events.refusals.all()).toHaveLength(201);
  const { refusals, handshakes } = report(events, 0, 0);
  expect(refusals).toHaveLength(100);
  expect(refusals.slice(0, 2)).toMatchObject([
    { filter: 'others', policy: 'others', calls: 800 },
    { status: 'PERMISSION_DENIED', filter: 'rbac', action: 'deny', policy: 'policy 7', calls: 2 },
  ]);
  expect(handshakes.failures[0]).toMatchObject({ cause: 'others', handshakes: 801 });
  expect(handshakes.succeeded).toBe(1);
});
