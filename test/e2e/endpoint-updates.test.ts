import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { RECONNECT_SOON, routed } from '../support/failover';
import { Mesh } from '../support/mesh';
import '../support/quiet-grpc';
import { edsClusterJson, endpointsJson, type Json } from '../support/xds-json';

/** How long to wait for something that comes about by itself. */
const PATIENCE_MS = 60_000;

type Endpoint = Readonly<{ port: number; health?: string; others?: readonly number[] }>;

const addressJson = (port: number): Json => ({
  socket_address: { address: '127.0.0.1', port_value: port },
});

/** An assignment with a locality for each list. */
function assignmentJson(name: string, localities: readonly (readonly Endpoint[])[]): Json {
  return {
    cluster_name: name,
    endpoints: localities.map((endpoints, index) => ({
      locality: { region: 'test', zone: `zone-${index}` },
      load_balancing_weight: 1,
      lb_endpoints: endpoints.map(({ port, health = 'UNKNOWN', others = [] }) => ({
        endpoint: {
          address: addressJson(port),
          additional_addresses: others.map((other) => ({ address: addressJson(other) })),
        },
        health_status: health,
      })),
    })),
  };
}

describe('the endpoints of a cluster', () => {
  let mesh: Mesh;
  let client: EchoClient;
  let a: EchoBackend;
  let b: EchoBackend;
  let c: EchoBackend;

  beforeEach(async () => {
    mesh = await Mesh.start();
    [a, b, c] = await Promise.all([mesh.backend('a'), mesh.backend('b'), mesh.backend('c')]);
    client = mesh.client(RECONNECT_SOON);
  });
  afterEach(() => {
    mesh.stop();
  });

  const serve = (...localities: readonly (readonly Endpoint[])[]): void => {
    mesh.serve(routed([edsClusterJson('echo')], [assignmentJson('echo', localities)]));
  };

  /** Waits until calls are answered by these backends and no others. */
  const untilAnsweredByAll = (...names: readonly string[]) =>
    eventually(
      async () => {
        const answers = new Set<string>();
        // More than enough for each to have its turn, however the localities are drawn.
        for (let i = 0; i < 30; i++) answers.add(await client.say({ deadlineMs: PATIENCE_MS }));
        return [...answers].sort().join();
      },
      (answers) => answers === names.join(),
      PATIENCE_MS,
    );
  const untilRejected = () =>
    eventually(
      () => mesh.controlPlane.clients().flatMap(({ types }) => [...types.values()]),
      (types) => types.some(({ rejection }) => rejection !== undefined),
      PATIENCE_MS,
    );
  const untilFailing = () =>
    eventually(
      () => client.failure({ deadlineMs: PATIENCE_MS }).catch(() => undefined),
      (failure) => failure !== undefined,
      PATIENCE_MS,
    );

  const untilServing = () =>
    eventually(
      () => client.say({ deadlineMs: PATIENCE_MS }).catch(() => undefined),
      (answer) => answer !== undefined,
      PATIENCE_MS,
    );

  it(
    'of one locality are added, taken away and replaced',
    async () => {
      serve([a]);
      await untilAnsweredByAll('a');
      serve([a, b]);
      await untilAnsweredByAll('a', 'b');
      serve([b]);
      await untilAnsweredByAll('b');
      serve([c]);
      await untilAnsweredByAll('c');
    },
    PATIENCE_MS * 2,
  );

  it(
    'of several localities follow each of these',
    async () => {
      serve([a], [b]);
      await untilAnsweredByAll('a', 'b');
      serve([a], [b], [c]);
      await untilAnsweredByAll('a', 'b', 'c');
      serve([a], [c]);
      await untilAnsweredByAll('a', 'c');
      serve([a, b]);
      await untilAnsweredByAll('a', 'b');
    },
    PATIENCE_MS * 2,
  );

  it(
    'get calls only while they are healthy, or nothing is known of their health',
    async () => {
      serve([
        { port: a.port, health: 'HEALTHY' },
        { port: b.port },
        { port: c.port, health: 'UNHEALTHY' },
      ]);
      await untilAnsweredByAll('a', 'b');
      serve([
        { port: a.port, health: 'DRAINING' },
        { port: b.port, health: 'TIMEOUT' },
        { port: c.port, health: 'HEALTHY' },
      ]);
      await untilAnsweredByAll('c');
    },
    PATIENCE_MS * 2,
  );

  it(
    'may all be taken away, which fails calls, and come back',
    async () => {
      serve([a]);
      await untilAnsweredByAll('a');
      serve();
      expect((await untilFailing())?.code).toBe(14);
      serve([b]);
      await untilServing();
      await untilAnsweredByAll('b');
    },
    PATIENCE_MS * 2,
  );

  it(
    'stay in use when the resource is there no more',
    async () => {
      serve([a]);
      await untilAnsweredByAll('a');
      mesh.serve(routed([edsClusterJson('echo')], []));
      mesh.serve(routed([edsClusterJson('echo', { connect_timeout: '7s' })], []));
      await untilAnsweredByAll('a');
    },
    PATIENCE_MS,
  );

  it(
    'are those of another resource once the cluster names that',
    async () => {
      const endpoints = [
        endpointsJson('one', [{ zone: 'z', ports: [a.port] }]),
        endpointsJson('two', [{ zone: 'z', ports: [b.port] }]),
      ];
      const named = (name: string): Json =>
        edsClusterJson('echo', {
          eds_cluster_config: { eds_config: { ads: {} }, service_name: name },
        });
      mesh.serve(routed([named('one')], endpoints));
      await untilAnsweredByAll('a');
      mesh.serve(routed([named('two')], endpoints));
      await untilAnsweredByAll('b');
    },
    PATIENCE_MS,
  );

  const bad: Json = {
    cluster_name: 'echo',
    endpoints: [{ locality: {}, load_balancing_weight: 1, priority: 3 }],
  };

  it(
    'stay in use when an update of them is rejected',
    async () => {
      serve([a]);
      await untilAnsweredByAll('a');
      mesh.serve(routed([edsClusterJson('echo')], [bad]));
      await untilRejected();
      await untilAnsweredByAll('a');
    },
    PATIENCE_MS,
  );

  it(
    'that are rejected at first fail calls, and say why, until there are good ones',
    async () => {
      mesh.serve(routed([edsClusterJson('echo')], [bad]));
      const { details } = await client.failure({ deadlineMs: PATIENCE_MS });
      expect(details).toContain('priority');
      serve([a]);
      await untilServing();
      await untilAnsweredByAll('a');
    },
    PATIENCE_MS,
  );

  it(
    'are used although another one is at a unix socket, and calls name that one when it is alone',
    async () => {
      const socket: Json = { endpoint: { address: { pipe: { path: '/run/backend.sock' } } } };
      const usable: Json = { endpoint: { address: addressJson(a.port) } };
      const serveEndpoints = (...lbEndpoints: readonly Json[]): void => {
        const entry = { locality: {}, load_balancing_weight: 1, lb_endpoints: lbEndpoints };
        const assignment: Json = { cluster_name: 'echo', endpoints: [entry] };
        mesh.serve(routed([edsClusterJson('echo')], [assignment]));
      };
      serveEndpoints(socket, usable, socket);
      await untilAnsweredByAll('a');
      serveEndpoints(socket);
      const failure = await untilFailing();
      expect(failure?.details).toContain('1 endpoint has an address of a kind that this client');
    },
    PATIENCE_MS,
  );

  it(
    'are reached at whichever of their addresses answers',
    async () => {
      const gone = await mesh.backend('gone');
      gone.stop();
      serve([{ port: gone.port, others: [a.port] }, { port: b.port }]);
      await untilAnsweredByAll('a', 'b');
    },
    PATIENCE_MS,
  );
});
