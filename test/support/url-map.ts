import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { endpointKind } from '../../src/control-plane';
import { Mesh, SERVICE } from './mesh';
import { methodOf, UrlMapBackend, type Rpc } from './url-map-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from './xds-json';

/** The clusters of a url map, named for the part they play. */
export const DEFAULT = 'default-backend-service';
export const ALTERNATIVE = 'alternative-backend-service';

/** How the fault filter is called in listeners and overrides. */
export const FAULT = 'envoy.filters.http.fault';
export const FAULT_TYPE = 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault';

/** A route of a url map: it comes before the one for all other calls. */
export function routeRule(
  match: Json,
  cluster: string,
  { action = {}, ...extra }: { action?: Json } & Json = {},
): Json {
  return { match, route: { cluster, ...action }, ...extra };
}

/** The call or calls to send. */
export interface Sending {
  readonly rpc: Rpc;
  readonly count: number;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Default 20 s. */
  readonly deadlineMs?: number;
}

/** What became of a number of calls. */
export interface Tally {
  /** Calls answered with OK, by the cluster of the backend that did. */
  readonly answered: ReadonlyMap<string, number>;
  /** Calls by status. */
  readonly codes: ReadonlyMap<status, number>;
}

/** What a call ended with. */
interface Outcome {
  readonly code: status;
  readonly hostname: string | undefined;
}

/** The set-up of the url-map cases: a client, two clusters of one real backend each, and routes to them. */
export class UrlMap {
  private client: Client | undefined;

  private constructor(
    private readonly mesh: Mesh,
    readonly backends: ReadonlyMap<string, UrlMapBackend>,
  ) {}

  static async start(): Promise<UrlMap> {
    const mesh = await Mesh.start();
    const backends = new Map<string, UrlMapBackend>();
    for (const cluster of [DEFAULT, ALTERNATIVE]) {
      backends.set(cluster, await UrlMapBackend.start(cluster));
    }
    return new UrlMap(mesh, backends);
  }

  /** Serves these routes, and after them one to the default cluster, with these filters before the router. */
  serve(
    rules: readonly Json[],
    options: { filters?: readonly Json[]; others?: string } = {},
  ): void {
    const { filters = [], others = DEFAULT } = options;
    const routes = [...rules, routeToCluster(others)];
    this.mesh.serve({
      listeners: [listenerJson(SERVICE, 'routes', { http_filters: [...filters, routerFilter] })],
      routes: [routeConfigJson('routes', routes)],
      clusters: [...this.backends.keys()].map((cluster) => edsClusterJson(cluster)),
      endpoints: [...this.backends].map(([cluster, { port }]) =>
        endpointsJson(cluster, [{ zone: 'a', ports: [port] }]),
      ),
    });
  }

  /** Sends calls of one kind at once. */
  async send(sending: Sending): Promise<Tally> {
    const outcomes = await Promise.all(
      Array.from({ length: sending.count }, () => this.sendOne(sending)),
    );
    const answered = new Map<string, number>();
    const codes = new Map<status, number>();
    for (const { code, hostname } of outcomes) {
      count(codes, code);
      if (code === status.OK) count(answered, hostname ?? 'nobody');
    }
    return { answered, codes };
  }

  /** The clusters whose endpoints the client uses. Fails if it has refused anything. */
  endpointsInUse(): readonly string[] {
    const [client] = this.mesh.controlPlane.clients();
    for (const { typeUrl, rejection } of client?.types.values() ?? []) {
      if (rejection !== undefined) throw new Error(`${typeUrl} was refused: ${rejection.message}`);
    }
    return [...(client?.types.get(endpointKind.typeUrl)?.subscribed ?? [])].sort();
  }

  backend(cluster: string): UrlMapBackend {
    const backend = this.backends.get(cluster);
    if (backend === undefined) throw new Error(`There is no cluster ${cluster}`);
    return backend;
  }

  stop(): void {
    this.client?.close();
    for (const backend of this.backends.values()) backend.stop();
    this.mesh.stop();
  }

  private sendOne({ rpc, metadata = {}, deadlineMs = 20_000 }: Sending): Promise<Outcome> {
    this.client ??= new Client(`xds:///${SERVICE}`, credentials.createInsecure());
    const { path, requestSerialize, responseDeserialize } = methodOf(rpc);
    const headers = new Metadata();
    for (const [name, value] of Object.entries(metadata)) headers.set(name, value);
    return new Promise((resolve) => {
      let hostname: string | undefined;
      const call = this.client?.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        Buffer.alloc(0),
        headers,
        { deadline: Date.now() + deadlineMs },
        (error) =>
          resolve({
            code: error === null ? status.OK : error.code,
            hostname,
          }),
      );
      call?.on('metadata', (received: Metadata) => {
        hostname = received.get('hostname').map(String)[0];
      });
    });
  }
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
