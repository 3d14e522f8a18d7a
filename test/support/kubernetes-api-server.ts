import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from './listen';

type Json = Readonly<Record<string, unknown>>;

/** An object with what its kind has besides its name. */
export interface ApiObject extends Json {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: object;
  };
}

/** What the API server decides of a review, by its specification. */
export type Review = (spec: Json) => Json;

const SERVICES = '/api/v1/services';
const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const NODES = '/api/v1/nodes';
/** Which the API server knows once there is one. */
const ROUTES = '/apis/gateway.networking.k8s.io/v1/grpcroutes';
const NAMESPACES = '/api/v1/namespaces';
const ACCOUNTS = '/api/v1/serviceaccounts';
const REVIEWS = /^\/apis\/(?:authentication|authorization)\.k8s\.io\/v1\/(\w+)$/;

/** The part of a Kubernetes API server that a control plane uses, over HTTP on a loopback address, in one version of each object. */
export class KubernetesApiServer {
  private readonly objects = new Map<string, ApiObject[]>();
  private readonly watches = new Map<string, Set<ServerResponse>>();
  private readonly server = createServer(
    (request, response) => void this.answer(request, response),
  );
  private readonly folder = mkdtempSync(join(tmpdir(), 'kubernetes-api-'));
  private version = 1;
  /** By the plural of the kind. */
  readonly reviews = new Map<string, Review>();
  /** The number of reviews of each kind. */
  readonly reviewed = new Map<string, number>();

  /** Starts to listen. @returns the path of a kubeconfig. */
  async start(): Promise<string> {
    for (const path of [SERVICES, SLICES, NODES, NAMESPACES, ACCOUNTS]) this.objects.set(path, []);
    this.put(NAMESPACES, { metadata: { name: 'shop' } });
    await listen(this.server);
    const path = join(this.folder, 'kubeconfig');
    writeFileSync(path, JSON.stringify(this.kubeconfig()));
    return path;
  }

  putService(service: ApiObject): void {
    this.put(SERVICES, service);
  }

  putSlice(slice: ApiObject): void {
    this.put(SLICES, slice);
  }

  putNode(node: ApiObject): void {
    this.put(NODES, node);
  }

  putRoute(route: ApiObject): void {
    this.put(ROUTES, route);
  }

  putAccount(account: ApiObject): void {
    this.put(ACCOUNTS, account);
  }

  /** Has a kind no more, as if the role of the user lacked it. */
  remove(plural: string): void {
    this.objects.delete(`/api/v1/${plural}`);
  }

  /** Ends at once, as when it is killed. */
  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private kubeconfig(): Json {
    const { port } = this.server.address() as AddressInfo;
    // The official client allows HTTP only with that.
    const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true };
    return {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'test', user: {} }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    };
  }

  private put(path: string, object: ApiObject): void {
    const resourceVersion = String(++this.version);
    const metadata = {
      namespace: 'shop',
      uid: object.metadata.name,
      generation: 1,
      resourceVersion,
    };
    const stored = { ...object, metadata: { ...metadata, ...object.metadata } };
    const others = this.objects
      .get(path)
      ?.filter(({ metadata: { name } }) => name !== object.metadata.name);
    this.objects.set(path, [...(others ?? []), stored]);
    for (const response of this.watches.get(path) ?? []) {
      response.write(`${JSON.stringify({ type: 'MODIFIED', object: stored })}\n`);
    }
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://localhost');
    const path = url.pathname.replace(/\/namespaces\/[^/]+(?=\/)/, '');
    const [, collection = path, name] = /^(\/.*)\/([^/]+)$/.exec(path) ?? [];
    const single = this.objects.get(collection)?.find(({ metadata }) => metadata.name === name);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const send = (status: number, body: Json) => {
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    const [, review = ''] = REVIEWS.exec(path) ?? [];
    if (path === '/version') send(200, { gitVersion: 'v1.34.1' });
    else if (review !== '') this.review(review, JSON.parse(String(Buffer.concat(chunks))), send);
    else if (single !== undefined) send(200, single);
    else if (!this.objects.has(path)) send(404, { message: 'not found' });
    else if (url.searchParams.has('watch')) this.watch(path, response);
    else {
      const metadata = { resourceVersion: String(this.version) };
      send(200, { metadata, items: this.objects.get(path) });
    }
  }

  private review(
    kind: string,
    { spec }: { readonly spec: Json },
    send: (status: number, body: Json) => void,
  ): void {
    this.reviewed.set(kind, (this.reviewed.get(kind) ?? 0) + 1);
    const review = this.reviews.get(kind);
    if (review === undefined) send(403, { message: `${kind} are forbidden` });
    else send(201, { status: review(spec) });
  }

  private watch(path: string, response: ServerResponse): void {
    const all = this.watches.get(path) ?? new Set();
    this.watches.set(path, all.add(response));
    response.on('close', () => all.delete(response));
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.flushHeaders();
  }
}

/** A Service of one port. */
export function serviceObject(name: string, more: Json = {}, metadata: Json = {}): ApiObject {
  const ports = [{ name: 'grpc', port: 80, protocol: 'TCP', appProtocol: 'kubernetes.io/h2c' }];
  return { metadata: { name, ...metadata }, spec: { type: 'ClusterIP', ports, ...more } };
}

/** An EndpointSlice of a Service, with endpoints at a port of the loopback address, which this API server accepts. */
export function sliceObject(
  service: string,
  port: number,
  endpoints: readonly Json[] = [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
): ApiObject {
  const labels = { 'kubernetes.io/service-name': service };
  return {
    metadata: { name: `${service}-1`, labels },
    addressType: 'IPv4',
    ports: [{ name: 'grpc', port, protocol: 'TCP' }],
    endpoints,
  };
}
