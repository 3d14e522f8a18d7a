// Servers that take part in xDS, called by clients of other languages: the server of this package by theirs, and theirs by the
// client of this package. The control plane of this package configures both. All servers must behave alike.
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { freePort } from '../harness/children.mjs';
import { inOrder } from '../harness/in-order.mjs';
import {
  anyRoute,
  assignment,
  cluster,
  listener,
  rbac,
  routeConfig,
  serverListener,
  servingRoute,
  upstreamTls,
} from '../harness/resources.mjs';
import { meshCertificates, meshProvider, REQUIRING } from '../harness/secure-service.mjs';
import { ID, identity, mutual, roots } from '../tls/contexts.mjs';
import { call, demand, isOnly, until, untilOnly } from './judging.mjs';

/** Most of a step is waiting. */
const JOBS = 3;
const SERVER = 'server';
const CLIENT = 'spiffe://td.test/ns/a/sa/client';
const OTHER = 'spiffe://td.test/ns/a/sa/other';
const INBOUND = 'inbound';
const [UNAVAILABLE, DENIED] = ['14', '7'];

/** The TLS of clients by the name that they call. All names lead to the one server. */
const CLUSTERS = {
  mutual: mutual({ match_subject_alt_names: [{ exact: ID }] }),
  anonymous: identity(undefined),
  // Roots and identity are of one instance: with two, grpc-java 1.75 may present the identity of the instance of the roots.
  stranger: roots('stranger'),
  plain: undefined,
};
export const targetOf = (name) => `xds:///${name}.test`;

/** What each client has: a listener, routes and a cluster for each name. */
const clientResources = (port) => {
  const each = Object.entries(CLUSTERS);
  return {
    listeners: each.map(([name]) => listener({ name: `${name}.test`, routes: name })),
    routes: each.map(([name]) => routeConfig([anyRoute(name)], name)),
    clusters: each.map(([name, context]) => cluster(name, upstreamTls(context))),
    endpoints: each.map(([name]) => assignment(name, { servers: [{ port }] })),
  };
};

const ANYBODY = { any: true };
const calledBy = (uri) => ({ authenticated: { principal_name: { exact: uri } } });
const calling = (method) => ({
  url_path: { path: { exact: `/grpc.testing.TestService/${method}` } },
});
const withHeader = (name) => ({ header: { name, present_match: true } });
const policy = (permission, principal) => ({ permissions: [permission], principals: [principal] });

/** As Istio sends them: what is denied is before what is allowed. */
const RULES = [
  rbac('DENY', { blocked: policy(withHeader('blocked'), ANYBODY) }, 'deny'),
  rbac('ALLOW', { client: policy(calling('UnaryCall'), calledBy(CLIENT)) }, 'allow'),
];

/** One server, one client and the control plane of both. */
export class Setup {
  constructor(peers, { server, client }) {
    Object.assign(this, { peers, languages: { server, client } });
  }

  /** @param provider The certificates of the server, as the bootstrap has them. */
  async start(provider = meshProvider(meshCertificates().server)) {
    const { peers, languages } = this;
    const { client: theirs, stranger } = meshCertificates();
    this.controlPlane = new ControlPlane();
    const { address } = await this.controlPlane.start();
    this.server = await peers.xdsServers(languages.server, address, provider);
    this.at = await this.server.ask({ do: 'serve', name: SERVER, port: await freePort() });
    this.client = await peers.client(languages.client, address, {
      bootstrap: {
        certificate_providers: {
          ...meshProvider(theirs),
          stranger: meshProvider(stranger).mesh,
        },
      },
    });
  }

  /**
   * Changes what the server has.
   * @param options Of its Listener, which is deleted without them.
   * @param routes Of RDS.
   */
  serve(options, routes = []) {
    const { host, port } = this.at;
    const resources = clientResources(port);
    if (options !== undefined) {
      resources.listeners.push(
        serverListener({ name: `server/${host}:${port}`, host, port }, options),
      );
    }
    if (routes.length > 0) resources.routes.push(routeConfig(routes, INBOUND));
    this.controlPlane.setSnapshot(Snapshot.from(resources), { allowInconsistent: true });
  }

  call(name, count, options) {
    return call(this.client, targetOf(name), count, { secure: true, ...options });
  }

  untilServed(name) {
    return untilOnly(this.client, targetOf(name), [SERVER], { secure: true });
  }

  /** Calls until they end with a status, and no other one. */
  untilCode(name, code, options) {
    return until(
      () => this.call(name, 2, { failFast: true, ...options }),
      ({ codes }) => Object.keys(codes).join() === code,
      `calls as "${name}" to end with ${code}`,
    );
  }

  /** Calls to be served, with nothing else among them. */
  async served(name, count) {
    const counts = await this.call(name, count);
    demand(isOnly([SERVER], counts), `only ${SERVER} to answer`, counts);
  }

  seen() {
    return this.server.ask({ do: 'seen' });
  }

  /** Makes a change while a call is answered, which must be answered well. */
  async changeDuringCall(change) {
    const { calls } = await this.seen();
    const answer = this.call('mutual', 1, { headers: { 'rpc-behavior': 'sleep-1' } });
    await until(
      () => this.seen(),
      (seen) => seen.calls > calls,
      'a call to begin',
    );
    change();
    const counts = await answer;
    demand(isOnly([SERVER], counts), 'the call that had begun to be answered', counts);
  }

  async stop() {
    await this.client?.stop();
    await this.server?.stop();
    await this.controlPlane.close({ force: true });
  }
}

/** By name: what is done, one after the other, with the same server and client. */
const STEPS = {
  'without TLS in the Listener, plain text is served': async (setup) => {
    setup.serve({});
    await setup.untilServed('plain');
    await setup.untilCode('mutual', UNAVAILABLE);
  },
  'mutual TLS by an update: clients without a certificate of the mesh are refused': async (
    setup,
  ) => {
    setup.serve({ context: REQUIRING });
    await setup.untilServed('mutual');
    for (const name of ['plain', 'anonymous', 'stranger']) {
      await setup.untilCode(name, UNAVAILABLE);
    }
  },
  'RBAC: DENY before ALLOW, by header, method and principal': async (setup) => {
    setup.serve({ context: REQUIRING, filters: RULES });
    await setup.untilCode('mutual', DENIED, { method: 'EmptyCall' });
    await setup.untilServed('mutual');
    await setup.untilCode('mutual', DENIED, { headers: { blocked: '1' } });
    const other = rbac('ALLOW', { other: policy(ANYBODY, calledBy(OTHER)) });
    setup.serve({ context: REQUIRING, filters: [other] });
    await setup.untilCode('mutual', DENIED);
  },
  'another Listener: connections are drained, and no call fails': async (setup) => {
    setup.serve({ context: REQUIRING });
    await setup.untilServed('mutual');
    const { connections } = await setup.seen();
    await setup.changeDuringCall(() =>
      setup.serve({ context: REQUIRING, routes: INBOUND }, [servingRoute()]),
    );
    const isReplaced = async () => {
      await setup.served('mutual', 10);
      return setup.seen();
    };
    await until(isReplaced, (seen) => seen.connections > connections, 'another connection');
  },
  'other routes: the next calls of the same connection follow them': async (setup) => {
    const { connections } = await setup.seen();
    const unary = servingRoute({ prefix: '/grpc.testing.TestService/U' });
    const options = { context: REQUIRING, routes: INBOUND };
    setup.serve(options, [unary]);
    await setup.untilCode('mutual', UNAVAILABLE, { method: 'EmptyCall' });
    await setup.served('mutual', 10);
    setup.serve(options, [{ match: { prefix: '' }, route: { cluster: 'mutual' } }]);
    await setup.untilCode('mutual', UNAVAILABLE);
    setup.serve(options, [servingRoute()]);
    await setup.untilServed('mutual');
    const seen = await setup.seen();
    if (seen.connections !== connections) {
      throw new Error(`connections: ${connections}, then ${seen.connections}`);
    }
  },
  'the Listener is deleted: calls that have begun end, others fail; it comes back': async (
    setup,
  ) => {
    await setup.changeDuringCall(() => setup.serve(undefined));
    await setup.untilCode('mutual', UNAVAILABLE);
    setup.serve({ context: REQUIRING });
    await setup.untilServed('mutual');
  },
};

const runPair = async ({ peers, step }, pair) => {
  const setup = new Setup(peers, pair);
  const name = `client ${pair.client}, server ${pair.server}`;
  try {
    await setup.start();
    for (const [what, run] of Object.entries(STEPS)) {
      await step(`${name}: ${what}`, async () => {
        try {
          await run(setup);
        } catch (error) {
          error.stack += `\nthe server wrote:\n${setup.server.errors}`;
          throw error;
        }
      });
    }
  } finally {
    await setup.stop();
  }
};

const PAIRS = [
  { client: 'go', server: 'node' },
  { client: 'java', server: 'node' },
  { client: 'python', server: 'node' },
  { client: 'node', server: 'go' },
  { client: 'node', server: 'java' },
];

export const xdsServerCases = [
  {
    name: 'xds servers: of this package for other clients, of others for this client',
    languages: ['go', 'java', 'python'],
    run: (context) =>
      inOrder(
        PAIRS,
        JOBS,
        (pair) => runPair(context, pair),
        () => undefined,
      ),
  },
];
