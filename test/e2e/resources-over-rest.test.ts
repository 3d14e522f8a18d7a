import { createHash } from 'node:crypto';
import { logVerbosity, setLogger, setLogVerbosity } from '@grpc/grpc-js';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  NODE_ID,
  SERVICE,
  simpleResources,
  type MeshResources,
  registerAnew,
} from '../support/mesh';
import { RestServer, type RestAnswer, type RestRequest } from '../support/rest-server';

const types: Readonly<Record<keyof MeshResources, string>> = {
  listeners: 'envoy.config.listener.v3.Listener',
  routes: 'envoy.config.route.v3.RouteConfiguration',
  clusters: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
};

/** Answers as a management server does, with versions and entity tags. */
function answerWith(resources: MeshResources, { path, headers }: RestRequest): RestAnswer {
  const kind = path.replace('/v3/discovery:', '');
  if (!isKind(kind)) return { status: 404 };
  const items = resources[kind].map((each) => ({
    '@type': `type.googleapis.com/${types[kind]}`,
    ...each,
  }));
  const version = createHash('sha256').update(JSON.stringify(items)).digest('hex').slice(0, 8);
  if (headers['if-none-match'] === version) return { status: 304 };
  return { headers: { etag: version }, body: { version_info: version, resources: items } };
}

function isKind(text: string): text is keyof MeshResources {
  return text in types;
}

describe('a server that is polled over HTTP', () => {
  let backends: EchoBackend[];
  let server: RestServer;
  let resources: MeshResources;
  let refusal: RestAnswer;
  const clients: EchoClient[] = [];
  const log: string[] = [];

  beforeEach(async () => {
    backends = [await EchoBackend.start('first'), await EchoBackend.start('second')];
    resources = resourcesFor(0);
    refusal = undefined;
    server = await RestServer.start((request) => refusal ?? answerWith(resources, request));
    log.length = 0;
    setLogger({ error: (...texts: unknown[]) => log.push(texts.join(' ')) });
    setLogVerbosity(logVerbosity.INFO);
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    for (const backend of backends) backend.stop();
    server.stop();
    setLogVerbosity(logVerbosity.NONE);
  });

  /** What was logged about the server; a slow machine may lead to other lines. */
  const logged = () => log.filter((line) => /HTTP status|answers again|rejected/.test(line));

  const resourcesFor = (index: number) => simpleResources([backends[index]?.port ?? 0]);

  function use(): EchoClient {
    const entry = { server_uri: server.uri, refresh_delay: '0.05s', request_timeout: '20s' };
    registerAnew({ bootstrap: { xds_servers: [entry], node: { id: NODE_ID } } });
    const client = new EchoClient(`xds:///${SERVICE}`, {});
    clients.push(client);
    return client;
  }

  it('leads calls to where it says, and elsewhere when it says so', async () => {
    const client = use();
    expect(await client.say()).toBe('first');
    resources = resourcesFor(1);
    await eventually(() => client.say(), 'second');
    expect(server.requests.every(({ body }) => hasNodeId(body['node']))).toBe(true);
    expect(logged()).toEqual([]);
  });

  it('is done without while it fails, says why, and is heard again', async () => {
    const client = use();
    expect(await client.say()).toBe('first');
    refusal = { status: 500, body: 'out of order' };
    await eventually(logged, (lines) => lines.length > 0);
    expect(logged()[0]).toMatch(
      /management server http:\S+ \(node "test-node"\) ended the stream with UNKNOWN: \/v3\/discovery:\w+ was answered with HTTP status 500: out of order: see its log \(failing since \S+\); next attempt in/,
    );
    expect(await client.say()).toBe('first');
    resources = resourcesFor(1);
    refusal = undefined;
    await eventually(() => client.say(), 'second', 60_000);
    expect(logged().at(-1)).toMatch(/answers again$/);
  }, 90_000);

  it('is named in the status of calls when it never answered', async () => {
    refusal = { status: 403, body: 'not you' };
    await expect(use().say()).rejects.toMatchObject({
      code: 14,
      details: expect.stringMatching(/PERMISSION_DENIED.* HTTP status 403: not you/),
    });
  });
});

function hasNodeId(node: unknown): boolean {
  return typeof node === 'object' && node !== null && 'id' in node && node.id === NODE_ID;
}
