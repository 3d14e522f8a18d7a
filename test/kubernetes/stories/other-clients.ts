import { eventually } from '../../support/eventually';
import {
  createPeers,
  CLIENT_LANGUAGES,
  type CallCounts,
  type LineProcess,
  type Measured,
} from '../workload/peers';
import { Deployment, SERVICE_PORT } from '../workload/deployment';
import type { ApiObject } from '../cluster/api-client';
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
    ...{ do: 'call', target, count: 20, headers, method },
    ...{ timeoutMs: CALL_TIMEOUT_MS, failFast: true },
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

/** Clients of one implementation: a rolling update under load, then the routing cases. */
async function runClient(name: string, context: StoryContext): Promise<StoryResult> {
  const { api } = context.cluster;
  const peers = await createPeers();
  const called = new Deployment(api, `called-by-${name}`);
  const [one, two] = [new Deployment(api, 'routed-one'), new Deployment(api, 'routed-two')];
  const parent = new Deployment(api, 'routed');
  const controlPlanes = await startControlPlanes(context, {});
  try {
    await called.start(PODS);
    for (const deployment of [one, two, parent]) await deployment.start(2);
    const client = await peers.client(name, controlPlanes[0]?.address ?? '');
    await client.ask({ do: 'probe', target: called.target, intervalMs: INTERVAL_MS });
    await client.ask({ do: 'call', target: called.target, count: 1, timeoutMs: CALL_TIMEOUT_MS });
    await called.roll({ maxSurge: 2, preStopMs: 1000 });
    const { calls, failed, slowestMs } = (await client.ask({ do: 'measured' })) as Measured;
    let judged = 0;
    for (const { rules, cases } of ROUTINGS) {
      await api.apply(routeOf('routed', rules));
      for (const routing of cases) {
        await judge(client, parent.target, routing);
        judged++;
      }
    }
    return {
      facts: [
        `${PODS} pods replaced: ${calls} calls, ${failed} failed, the slowest ${slowestMs.toFixed(0)} ms`,
        `${judged} routing cases`,
      ],
      misses: failed > 0 ? [`${failed} calls failed`] : [],
    };
  } finally {
    await peers.stop();
    for (const deployment of [called, one, two, parent]) await deployment.delete();
    await Promise.all(controlPlanes.map((process) => process.kill()));
    await api.delete(routeOf('routed', [])).catch(() => undefined);
  }
}

/** One story for each implementation. */
export const otherClients: readonly Story[] = Object.entries(CLIENT_LANGUAGES).map(
  ([name, language]) => ({
    name: `client: ${name}`,
    isInShortForm: false,
    ...(language !== undefined && { language }),
    run: (context) => runClient(name, context),
  }),
);
