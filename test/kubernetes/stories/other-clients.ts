import { eventually } from '../../support/eventually';
import {
  createPeers,
  CLIENT_LANGUAGES,
  type CallCounts,
  type LineProcess,
  type Measured,
} from '../workload/peers';
import { Deployment, SERVICE_PORT } from '../workload/deployment';
import type { ApiClient, ApiObject } from '../cluster/api-client';
import { startControlPlanes } from './scene';
import type { Story, StoryContext, StoryResult } from './story';

const PODS = 8;
const INTERVAL_MS = 2;
const CALL_TIMEOUT_MS = 10_000;
const UNIMPLEMENTED = '12';
const UNAVAILABLE = '14';

/** One call of a routing case, and by which deployment it is answered, or with which status it ends. */
interface RoutingCase {
  readonly what: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: 'EmptyCall';
  readonly answeredBy?: readonly string[];
  readonly status?: string;
}

/** A rule of a GRPCRoute. */
interface Rule {
  readonly matches?: readonly object[];
  readonly backendRefs: readonly object[];
}

const SERVICE = 'grpc.testing.TestService';
const backend = (name: string, weight = 1) => ({ name, port: SERVICE_PORT, weight });

/** Routes of a Service, and the calls by which they are judged. */
const ROUTINGS: readonly {
  readonly rules: readonly Rule[];
  readonly cases: readonly RoutingCase[];
}[] = [
  {
    rules: [
      {
        matches: [{ headers: [{ name: 'version', value: 'two' }] }],
        backendRefs: [backend('routed-two')],
      },
      { backendRefs: [backend('routed-one')] },
    ],
    cases: [
      { what: 'a header', headers: { version: 'two' }, answeredBy: ['routed-two'] },
      { what: 'another value', headers: { version: 'three' }, answeredBy: ['routed-one'] },
      { what: 'no header', answeredBy: ['routed-one'] },
    ],
  },
  {
    rules: [
      {
        matches: [{ method: { service: SERVICE, method: 'EmptyCall' } }],
        backendRefs: [backend('routed-two')],
      },
      { matches: [{ method: { service: SERVICE } }], backendRefs: [backend('routed-one')] },
    ],
    cases: [
      { what: 'a method', method: 'EmptyCall', answeredBy: ['routed-two'] },
      { what: 'its service', answeredBy: ['routed-one'] },
    ],
  },
  {
    rules: [{ backendRefs: [backend('routed-one', 1), backend('routed-two', 1)] }],
    cases: [{ what: 'weights', answeredBy: ['routed-one', 'routed-two'] }],
  },
  {
    rules: [
      {
        matches: [{ method: { service: SERVICE, method: 'EmptyCall' } }],
        backendRefs: [backend('routed-two')],
      },
    ],
    cases: [{ what: 'no match', status: UNIMPLEMENTED }],
  },
  {
    rules: [{ backendRefs: [backend('not-there')] }],
    cases: [{ what: 'a backend that is not there', status: UNAVAILABLE }],
  },
];

function routeOf(parent: string, rules: readonly Rule[]): ApiObject {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GRPCRoute',
    metadata: { name: `${parent}-route`, namespace: 'default' },
    spec: { parentRefs: [{ group: '', kind: 'Service', name: parent, port: SERVICE_PORT }], rules },
  };
}

/** Makes calls until they end as the case has it. */
async function judge(client: LineProcess, target: string, routing: RoutingCase): Promise<void> {
  const { headers = {}, method = 'UnaryCall', answeredBy, status } = routing;
  const command = {
    do: 'call',
    target,
    count: 20,
    headers,
    method,
    timeoutMs: CALL_TIMEOUT_MS,
    failFast: true,
  };
  // The name of a pod begins with that of its deployment.
  const deploymentsOf = ({ peers }: CallCounts) =>
    [...new Set(Object.keys(peers).map((pod) => pod.replace(/-\d+$/, '')))].sort();
  await eventually(
    async () => (await client.ask(command)) as CallCounts,
    (counts) => {
      if (Object.keys(counts.codes).join() !== (status ?? '0')) return false;
      return status !== undefined || deploymentsOf(counts).join() === answeredBy?.join();
    },
  ).catch((error: Error) => {
    throw new Error(`${routing.what}: ${error.message}`);
  });
}

/** A rolling update under load. @returns what became of the calls. */
async function callWhileRolling(client: LineProcess, deployment: Deployment): Promise<Measured> {
  const { target } = deployment;
  await client.ask({ do: 'probe', target, intervalMs: INTERVAL_MS });
  await client.ask({ do: 'call', target, count: 1, timeoutMs: CALL_TIMEOUT_MS });
  await deployment.roll({ maxSurge: 2, preStopMs: 1000 });
  return (await client.ask({ do: 'measured' })) as Measured;
}

/** Judges each routing case. @returns how many there were. */
async function judgeAll(client: LineProcess, api: ApiClient, target: string): Promise<number> {
  let judged = 0;
  for (const { rules, cases } of ROUTINGS) {
    await api.apply(routeOf('routed', rules));
    for (const routing of cases) {
      await judge(client, target, routing);
      judged++;
    }
  }
  return judged;
}

/** Clients of one implementation: a rolling update, and the routing cases. */
async function runClient(
  name: string,
  language: string | undefined,
  context: StoryContext,
): Promise<StoryResult> {
  const { api } = context.cluster;
  const peers = await createPeers();
  const called = new Deployment(api, `called-by-${name}`);
  const routed = ['routed', 'routed-one', 'routed-two'].map((each) => new Deployment(api, each));
  const [parent] = routed;
  const [controlPlane] = await startControlPlanes(context, {});
  if (parent === undefined || controlPlane === undefined) throw new Error('nothing was started');
  try {
    await called.start(PODS);
    for (const deployment of routed) await deployment.start(2);
    const client = await peers.client(name, controlPlane.address);
    const facts = [];
    const misses = [];
    // The calls of this package are measured by the other stories.
    if (language !== undefined) {
      const { calls, failed, slowestMs } = await callWhileRolling(client, called);
      const slowest = `the slowest ${slowestMs.toFixed(0)} ms`;
      facts.push(`${PODS} pods replaced: ${calls} calls, ${failed} failed, ${slowest}`);
      if (failed > 0) misses.push(`${failed} calls failed`);
    }
    facts.push(`${await judgeAll(client, api, parent.target)} routing cases`);
    return { facts, misses };
  } finally {
    await peers.stop();
    for (const deployment of [called, ...routed]) await deployment.delete();
    await controlPlane.kill();
    await api.delete(routeOf('routed', [])).catch(() => undefined);
  }
}

/** One story for each implementation. */
export const otherClients: readonly Story[] = Object.entries(CLIENT_LANGUAGES).map(
  ([name, language]) => ({
    name: `client: ${name}`,
    isInShortForm: false,
    ...(language !== undefined && { language }),
    run: (context) => runClient(name, language, context),
  }),
);
