import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { RECONNECT_SOON, routed } from '../support/failover';
import { useMesh } from '../support/mesh';
import '../support/quiet-grpc';
import { edsClusterJson, endpointsJson, type Json } from '../support/xds-json';

jest.setTimeout(120_000);

interface Endpoint {
  readonly port: number;
  readonly health?: string;
  readonly others?: readonly number[];
}

/** The endpoints of each locality. */
type Localities = readonly (readonly Endpoint[])[];

const addressJson = (port: number): Json => ({
  socket_address: { address: '127.0.0.1', port_value: port },
});

function assignmentJson(localities: Localities): Json {
  return {
    cluster_name: 'echo',
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
  const mesh = useMesh();
  let client: EchoClient;
  let a: EchoBackend;
  let b: EchoBackend;
  let c: EchoBackend;

  beforeEach(async () => {
    [a, b, c] = await Promise.all([mesh.backend('a'), mesh.backend('b'), mesh.backend('c')]);
    client = mesh.client(RECONNECT_SOON);
  });

  const serveJson = (...assignments: readonly Json[]) =>
    mesh.serve(routed([edsClusterJson('echo')], assignments));
  const serve = (...localities: Localities) => serveJson(assignmentJson(localities));

  /** Waits until calls are answered by these backends and no others. */
  const untilAnsweredBy = (names: string) =>
    eventually(async () => {
      const answers = new Set<string>();
      // More than enough for each to have its turn, however the localities are drawn.
      for (let i = 0; i < 30; i++) answers.add(await client.say().catch(() => 'none'));
      return [...answers].sort().join();
    }, names);
  const untilFailing = () =>
    eventually(
      () => client.failure().catch(() => undefined),
      (failure) => failure !== undefined,
    );

  /** Each step: what is served, and who answers then. */
  const stories: Record<string, () => readonly (readonly [Localities, string])[]> = {
    'of one locality are added, taken away and replaced': () => [
      [[[a]], 'a'],
      [[[a, b]], 'a,b'],
      [[[b]], 'b'],
      [[[c]], 'c'],
    ],
    'of several localities follow each of these': () => [
      [[[a], [b]], 'a,b'],
      [[[a], [b], [c]], 'a,b,c'],
      [[[a], [c]], 'a,c'],
      [[[a, b]], 'a,b'],
    ],
    'get calls only while they are healthy, or nothing is known of their health': () => {
      const as = (health: string, { port }: EchoBackend) => ({ port, health });
      return [
        [[[as('HEALTHY', a), b, as('UNHEALTHY', c)]], 'a,b'],
        [[[as('DRAINING', a), as('TIMEOUT', b), as('HEALTHY', c)]], 'c'],
      ];
    },
    'may all be taken away, which fails calls, and come back': () => [
      [[[a]], 'a'],
      [[], 'none'],
      [[[b]], 'b'],
    ],
    'are reached at whichever of their addresses answers': () => {
      c.stop();
      return [[[[{ port: c.port, others: [a.port] }, b]], 'a,b']];
    },
  };

  it.each(Object.entries(stories))('%s', async (_name, story) => {
    for (const [localities, answers] of story()) {
      serve(...localities);
      await untilAnsweredBy(answers);
    }
  });

  it('stay in use when the resource is there no more', async () => {
    serve([a]);
    await untilAnsweredBy('a');
    serveJson();
    mesh.serve(routed([edsClusterJson('echo', { connect_timeout: '7s' })], []));
    await untilAnsweredBy('a');
  });

  it('are those of another resource once the cluster names that', async () => {
    const endpoints = [
      endpointsJson('one', [{ zone: 'z', ports: [a.port] }]),
      endpointsJson('two', [{ zone: 'z', ports: [b.port] }]),
    ];
    const named = (service_name: string): Json =>
      edsClusterJson('echo', { eds_cluster_config: { eds_config: { ads: {} }, service_name } });
    mesh.serve(routed([named('one')], endpoints));
    await untilAnsweredBy('a');
    mesh.serve(routed([named('two')], endpoints));
    await untilAnsweredBy('b');
  });

  describe('that are rejected', () => {
    const bad = {
      cluster_name: 'echo',
      endpoints: [{ locality: {}, load_balancing_weight: 1, priority: 3 }],
    };

    it('leave the good ones of before in use', async () => {
      serve([a]);
      await untilAnsweredBy('a');
      serveJson(bad);
      await eventually(
        () => mesh.controlPlane.clients().flatMap(({ types }) => [...types.values()]),
        (types) => types.some(({ rejection }) => rejection !== undefined),
      );
      await untilAnsweredBy('a');
    });

    it('at first fail calls, and say why, until there are good ones', async () => {
      serveJson(bad);
      expect((await client.failure()).details).toContain('priority');
      serve([a]);
      await untilAnsweredBy('a');
    });
  });

  it('are used although another one is at a unix socket, and calls name that one when it is alone', async () => {
    const socket: Json = { endpoint: { address: { pipe: { path: '/run/backend.sock' } } } };
    const usable: Json = { endpoint: { address: addressJson(a.port) } };
    const serveEndpoints = (...lb_endpoints: readonly Json[]) => {
      const entry = { locality: {}, load_balancing_weight: 1, lb_endpoints };
      serveJson({ cluster_name: 'echo', endpoints: [entry] });
    };
    serveEndpoints(socket, usable, socket);
    await untilAnsweredBy('a');
    serveEndpoints(socket);
    const failure = await untilFailing();
    expect(failure?.details).toContain('1 endpoint has an address of a kind that this client');
  });
});
