import { setTimeout as sleep } from 'node:timers/promises';
import { Client, credentials, type Server } from '@grpc/grpc-js';
import { eventually } from '../../support/eventually';
import type { ApiClient, ApiObject } from '../cluster/api-client';
import { ensureNamespace } from '../cluster/install';
import { callOnce, startBackend } from '../routes/named-backend';
import { ROUTING_CASES, SERVICES, sharesOf, type RoutingCase } from '../routes/routing-cases';
import { startControlPlanes } from './scene';
import type { Story, StoryResult } from './story';
import { registerAnew } from '../../support/mesh';

const NAMESPACES = ['shop', 'other', 'third'];
const FRONT = 'xds:///front.shop.svc.cluster.local:80';
const POD_PORT = 50051;
/** Calls of a case that has several outcomes: each one of a share of a tenth is missed once in two million times. */
const CALLS = 140;
/** Times of creation have whole seconds. */
const SECOND_MS = 1100;
/** Changes are in use after that, also those that make no difference to the calls. */
const SETTLED_MS = 150;

/** An object without what the API server adds to it. */
function toWritten(object: Readonly<Record<string, unknown>>): ApiObject {
  const { apiVersion, kind, metadata, spec } = object as ApiObject;
  const { name, namespace = '', annotations = {} } = metadata;
  return { apiVersion, kind, metadata: { name, namespace, annotations }, spec };
}

/** Writes objects, the oldest first, and those of another second in another second. */
async function writeAll(
  api: ApiClient,
  objects: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const createdMs = (object: object) =>
    Date.parse(String((object as ApiObject).metadata['creationTimestamp']));
  const inOrder = [...objects].sort((a, b) => createdMs(a) - createdMs(b));
  for (const [i, object] of inOrder.entries()) {
    const previous = inOrder[i - 1];
    if (previous && createdMs(previous) !== createdMs(object)) await sleep(SECOND_MS);
    await api.apply(toWritten(object));
  }
}

/** The slice of a Service, with one backend that has its name. */
function sliceOf({ metadata, spec }: ApiObject, address: string): ApiObject {
  const { name, namespace = '' } = metadata;
  const { ports } = spec as { readonly ports: readonly { name: string; protocol: string }[] };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: ports.map((port) => ({ name: port.name, protocol: port.protocol, port: POD_PORT })),
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  };
}

/** Starts a backend for each Service, and writes both. */
async function startServices(api: ApiClient): Promise<readonly Server[]> {
  for (const namespace of NAMESPACES) await ensureNamespace(api, namespace);
  await writeAll(api, SERVICES);
  const servers: Server[] = [];
  for (const [index, service] of SERVICES.map(toWritten).entries()) {
    const address = `10.244.250.${index + 1}`;
    const { server } = await startBackend(service.metadata.name, `${address}:${POD_PORT}`);
    servers.push(server);
    await api.apply(sliceOf(service, address));
  }
  return servers;
}

/** Clients of each namespace, which call the Service that has the routes. */
class NamespacedClients {
  private readonly clients = new Map<string, Client>();

  static async start(address: string): Promise<NamespacedClients> {
    const started = new NamespacedClients();
    registerAnew();
    for (const namespace of NAMESPACES) {
      const server = { server_uri: address, channel_creds: [{ type: 'insecure' }] };
      const node = { id: `client-in-${namespace}`, metadata: { NAMESPACE: namespace } };
      const bootstrap = { xds_servers: [{ ...server, server_features: ['xds_v3'] }], node };
      const client = new Client(FRONT, credentials.createInsecure(), {
        'grpc_xds.bootstrap': JSON.stringify(bootstrap),
      });
      started.clients.set(namespace, client);
      await eventually(
        () => callOnce(client, { path: '/test.Echo/Say' }),
        (outcome) => outcome === 'front',
      );
    }
    return started;
  }

  /** Makes calls at once. @returns their different outcomes. */
  async call(call: RoutingCase['call'], count: number): Promise<string> {
    const client = this.clients.get(call.from ?? 'shop');
    if (client === undefined) throw new Error(`no client in ${call.from}`);
    const calls = Array.from({ length: count }, () => callOnce(client, call));
    return [...new Set(await Promise.all(calls))].sort().join();
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
  }
}

/** Writes the objects of a case, judges its calls, and removes the objects. @returns what is wrong. */
async function judge(
  api: ApiClient,
  clients: NamespacedClients,
  { name, objects, call, expected }: RoutingCase,
): Promise<readonly string[]> {
  const wanted = [...sharesOf({ name, objects, call, expected }).keys()].sort().join();
  try {
    await writeAll(api, objects);
    await sleep(SETTLED_MS);
    await eventually(
      () => clients.call(call, CALLS),
      (outcomes) => outcomes === wanted,
      5000,
    );
    return [];
  } catch (error) {
    return [`${name}: expected ${wanted}: ${String(error)}`];
  } finally {
    for (const object of objects) await api.delete(toWritten(object));
    // The next case begins where calls have no route.
    await eventually(
      () => clients.call(call, 1),
      (outcome) => outcome === 'front',
    );
  }
}

/** The routing cases of Gateway API, by objects in an API server. */
export const routingCases: Story = {
  name: 'routing cases',
  isInShortForm: false,
  async run(context): Promise<StoryResult> {
    const { api } = context.cluster;
    const servers = await startServices(api);
    const [controlPlane] = await startControlPlanes(context, {});
    if (controlPlane === undefined) throw new Error('no control plane');
    const clients = await NamespacedClients.start(controlPlane.address);
    try {
      const misses: string[] = [];
      for (const each of ROUTING_CASES) misses.push(...(await judge(api, clients, each)));
      return { facts: [`${ROUTING_CASES.length} cases`], misses };
    } finally {
      clients.close();
      for (const server of servers) server.forceShutdown();
      await controlPlane.kill();
      for (const service of SERVICES) await api.delete(toWritten(service));
    }
  },
};
