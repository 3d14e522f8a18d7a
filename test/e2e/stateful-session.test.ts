import { Client, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { eventually } from '../support/eventually';
import { Mesh, SERVICE } from '../support/mesh';
import { unaryMethod, UrlMapBackend } from '../support/url-map-backend';
import { listenerJson, routeConfigJson, routerFilter, type Json } from '../support/xds-json';

// Sessions that cookies bind to endpoints (gRFCs A55, A60, A75), with a real control plane and real servers.

const TYPE = 'type.googleapis.com';
const FILTER = 'envoy.extensions.filters.http.stateful_session.v3.StatefulSession';
const COOKIE = 'envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState';
const { path, requestSerialize, responseDeserialize } = unaryMethod;

/** A listener whose sessions have this cookie, named `session` unless it says otherwise. */
function sessionListener(routes?: string, cookie: Json = {}): Json {
  const state = { '@type': `${TYPE}/${COOKIE}`, cookie: { name: 'session', ...cookie } };
  const filter = {
    name: 'session',
    typed_config: {
      '@type': `${TYPE}/${FILTER}`,
      session_state: { name: 'cookie', typed_config: state },
    },
  };
  return listenerJson(SERVICE, routes, { http_filters: [filter, routerFilter] });
}

/** What a call came to. */
interface Answer {
  /** The name of the server that answered; empty if it sent nothing but trailers. */
  readonly server: string;
  readonly code: status;
  /** The cookie that was set, as the application would send it back; `undefined` if none was. */
  readonly cookie: string | undefined;
  readonly setCookie: string | undefined;
}

interface EndpointOptions {
  readonly health?: string;
  readonly priority?: number;
}

interface Config {
  /** By cluster, the names of the servers and how they are. */
  readonly clusters: Readonly<Record<string, Readonly<Record<string, EndpointOptions>>>>;
  readonly action?: Json;
  readonly cookie?: Json;
  /** Health states that sessions may stick to. */
  readonly statuses?: readonly string[];
}

class Scene {
  readonly servers = new Map<string, UrlMapBackend>();
  private readonly client = new Client(`xds:///${SERVICE}`, credentials.createInsecure());

  private constructor(private readonly mesh: Mesh) {}

  static async start(): Promise<Scene> {
    const scene = new Scene(await Mesh.start());
    for (const name of ['s1', 's2', 's3']) {
      scene.servers.set(name, await UrlMapBackend.start(name));
    }
    return scene;
  }

  server(name: string): UrlMapBackend {
    const server = this.servers.get(name);
    if (server === undefined) throw new Error(`There is no server ${name}`);
    return server;
  }

  /** Serves a config and waits until the client, if it has begun, has accepted it. */
  async serve(config: Config): Promise<void> {
    this.mesh.serve(this.resourcesOf(config));
    await eventually(
      () => this.mesh.controlPlane.clients().flatMap((client) => [...client.types.values()]),
      (types) => types.every(({ ackedVersion, sentVersion }) => ackedVersion === sentVersion),
    );
  }

  call(cookie?: string, behavior?: string): Promise<Answer> {
    const headers = new Metadata();
    if (cookie !== undefined) headers.add('cookie', `theme=dark; ${cookie}`);
    if (behavior !== undefined) headers.set('rpc-behavior', behavior);
    return new Promise((resolve) => {
      let received = new Metadata();
      const call = this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        Buffer.alloc(0),
        headers,
        { deadline: Date.now() + 10_000 },
        (error: ServiceError | null) => {
          const isHere = received.get('set-cookie').length > 0;
          const metadata = isHere ? received : (error?.metadata ?? received);
          const setCookie = metadata.get('set-cookie').map(String)[0];
          const server = String(received.get('hostname')[0] ?? '');
          const code = error?.code ?? status.OK;
          resolve({ server, code, setCookie, cookie: setCookie?.split(';')[0] });
        },
      );
      call.on('metadata', (metadata: Metadata) => (received = metadata));
    });
  }

  /** The servers that answered so many calls, each once and in order of their names. */
  async callMany(count: number, cookie?: string): Promise<readonly string[]> {
    const seen = new Set<string>();
    for (let i = 0; i < count; i++) seen.add((await this.call(cookie)).server);
    return [...seen].sort();
  }

  /** Waits until the answers to twelve calls come from these servers: which one answers is drawn by locality. */
  async untilAnsweredBy(servers: string, cookie?: string): Promise<void> {
    await eventually(
      () => this.callMany(12, cookie),
      (seen) => seen.join() === servers,
    );
  }

  /** Begins a session on this server. @returns the cookie. */
  async beginOn(server: string): Promise<string> {
    const answer = await eventually(
      () => this.call(),
      (candidate) => candidate.server === server,
    );
    if (answer.cookie === undefined) throw new Error('No cookie was set');
    return answer.cookie;
  }

  stop(): void {
    this.client.close();
    for (const server of this.servers.values()) server.stop();
    this.mesh.stop();
  }

  private resourcesOf({ clusters, action, cookie, statuses }: Config) {
    const names = Object.keys(clusters);
    const route = { match: { prefix: '' }, route: action ?? { cluster: names[0] } };
    return {
      listeners: [sessionListener('routes', cookie)],
      routes: [routeConfigJson('routes', [route])],
      clusters: names.map((name) => ({
        name,
        type: 'EDS',
        eds_cluster_config: { eds_config: { ads: {} } },
        lb_policy: 'ROUND_ROBIN',
        ...(statuses && { common_lb_config: { override_host_status: { statuses } } }),
      })),
      endpoints: names.map((name) => this.endpointsOf(name, clusters[name] ?? {})),
    };
  }

  private endpointsOf(cluster: string, servers: Readonly<Record<string, EndpointOptions>>): Json {
    const endpoints = Object.entries(servers).map(
      ([name, { health = 'HEALTHY', priority = 0 }]) => ({
        locality: { region: 'test', zone: name },
        load_balancing_weight: 1,
        priority,
        lb_endpoints: [
          {
            health_status: health,
            endpoint: {
              address: {
                socket_address: { address: '127.0.0.1', port_value: this.server(name).port },
              },
            },
          },
        ],
      }),
    );
    return { cluster_name: cluster, endpoints };
  }
}

const three = { c: { s1: {}, s2: {}, s3: {} } };
const statuses = ['UNKNOWN', 'HEALTHY', 'DRAINING'];

describe('a session', () => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.start();
  });
  afterEach(() => scene.stop());

  it('begins with the first answer, and stays on that server', async () => {
    await scene.serve({ clusters: three, cookie: { ttl: '60s' } });
    const first = await scene.call();
    const value = Buffer.from(`127.0.0.1:${scene.server(first.server).port};cluster:c`);
    expect(first.setCookie).toBe(
      `session=${value.toString('base64')}; Path=/; Max-Age=60; HttpOnly`,
    );
    for (let i = 0; i < 30; i++) {
      expect(await scene.call(first.cookie)).toEqual({
        server: first.server,
        code: status.OK,
        cookie: undefined,
        setCookie: undefined,
      });
    }
  });

  it('goes on with a server that is draining, which gets no other calls', async () => {
    await scene.serve({ clusters: three, statuses });
    const cookie = await scene.beginOn('s1');
    await scene.serve({ clusters: { c: { ...three.c, s1: { health: 'DRAINING' } } }, statuses });
    await scene.untilAnsweredBy('s2,s3');
    expect(await scene.callMany(12, cookie)).toEqual(['s1']);
    await scene.untilAnsweredBy('s2,s3');
  });

  it('moves when its server goes down', async () => {
    await scene.serve({ clusters: three });
    const cookie = await scene.beginOn('s1');
    scene.server('s1').stop();
    const moved = await eventually(
      () => scene.call(cookie),
      ({ code, server }) => code === status.OK && server !== 's1',
    );
    expect(await scene.callMany(12, moved.cookie)).toEqual([moved.server]);
  });

  it('stays in its cluster, whatever the weights, until the route no longer has it', async () => {
    const clusters = { a: { s1: {} }, b: { s2: {} } };
    const weighted = (a: number, b: number) => ({
      weighted_clusters: {
        clusters: [
          { name: 'a', weight: a },
          { name: 'b', weight: b },
        ],
      },
    });
    await scene.serve({ clusters, action: weighted(1, 0) });
    const cookie = await scene.beginOn('s1');
    await scene.serve({ clusters, action: weighted(1, 999_999) });
    await eventually(
      () => scene.callMany(5),
      (servers) => servers.join() === 's2',
    );
    expect(await scene.callMany(12, cookie)).toEqual(['s1']);
    await scene.serve({ clusters, action: { cluster: 'b' } });
    const moved = await eventually(
      () => scene.call(cookie),
      ({ server }) => server === 's2',
    );
    expect(await scene.callMany(5, moved.cookie)).toEqual(['s2']);
  });

  it('has every attempt of a call go to the same server', async () => {
    const retry_policy = {
      retry_on: 'unavailable',
      num_retries: 3,
      retry_back_off: { base_interval: '0.001s' },
    };
    await scene.serve({ clusters: three, action: { cluster: 'c', retry_policy } });
    await scene.untilAnsweredBy('s1,s2,s3');
    for (let i = 0; i < 5; i++) {
      const before = [...scene.servers].map(([, server]) => server.calls);
      const { code } = await scene.call(undefined, 'error-code-14');
      expect(code).toBe(status.UNAVAILABLE);
      const attempts = [...scene.servers].map(([, { calls }], j) => calls - (before[j] ?? 0));
      expect(attempts.sort()).toEqual([0, 0, 4]);
    }
  });
});
