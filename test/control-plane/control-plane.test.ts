import {
  ConsistencyError,
  ControlPlane,
  Snapshot,
  type ClientEvent,
  type ControlPlaneOptions,
} from '../../src/control-plane';
import { AdsService, type AdsServiceOptions } from '../../src/control-plane/ads/ads-service';
import { AdsClient, decodeOfficial } from './ads-client';
import { CDS, EDS, LDS, RDS, cluster, echo, endpoints, listener, route } from './resources';

const node = (id: string, client_features: readonly string[] = []) => ({
  node: { id, client_features },
});

class WrappingControlPlane extends ControlPlane {
  protected override createAdsService(options: AdsServiceOptions): AdsService {
    return new AdsService({ ...options, settings: { ...options.settings, wrapResources: true } });
  }
}

describe('ControlPlane', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  async function setUp(options: ControlPlaneOptions = {}, type = ControlPlane) {
    const events: ClientEvent[] = [];
    const waiters: { kind: string; resolve: (event: ClientEvent) => void }[] = [];
    const onClientEvent = (event: ClientEvent) => {
      events.push(event);
      for (const waiter of waiters.splice(0)) {
        if (waiter.kind === event.kind) waiter.resolve(event);
        else waiters.push(waiter);
      }
      return options.onClientEvent?.(event);
    };
    const server = new type({ ...options, onClientEvent });
    const { port, address } = await server.start();
    const client = new AdsClient(address);
    cleanUp.push(() => server.close());
    cleanUp.push(() => client.close());
    const until = (kind: ClientEvent['kind']) =>
      new Promise<ClientEvent>((resolve) => waiters.push({ kind, resolve }));
    return { server, client, port, address, events, until };
  }

  it('serves a client from listener to endpoints', async () => {
    const { client } = await setUp({ snapshot: Snapshot.from(echo) });
    const stream = client.open();

    stream.subscribe(LDS, ['echo'], node('test'));
    const listeners = await stream.next();
    expect(listeners).toMatchObject({
      type_url: LDS,
      nonce: '1',
      control_plane: { identifier: 'grpc-xds' },
    });
    stream.ack(listeners, ['echo']);

    stream.subscribe(RDS, ['echo-routes']);
    const routes = await stream.next();
    stream.subscribe(CDS, ['echo']);
    const clusters = await stream.next();
    stream.subscribe(EDS, ['echo']);
    const assignments = await stream.next();

    expect([routes.type_url, clusters.type_url, assignments.type_url]).toEqual([RDS, CDS, EDS]);
    const only = (response: typeof routes) => response.resources[0]?.value ?? Buffer.alloc(0);
    expect(decodeOfficial(RDS, only(routes))).toEqual({
      name: 'echo-routes',
      virtual_hosts: [
        {
          name: 'all',
          domains: ['*'],
          routes: [{ match: { prefix: '' }, route: { cluster: 'echo' } }],
        },
      ],
    });
    expect(decodeOfficial(CDS, only(clusters))).toEqual({
      name: 'echo',
      type: 'EDS',
      eds_cluster_config: { eds_config: { ads: {}, resource_api_version: 'V3' } },
    });
    expect(decodeOfficial(EDS, only(assignments))).toEqual({
      cluster_name: 'echo',
      endpoints: [
        {
          locality: { region: 'here' },
          load_balancing_weight: { value: 1 },
          lb_endpoints: [
            {
              endpoint: {
                address: { socket_address: { address: '127.0.0.1', port_value: 50051 } },
              },
            },
          ],
        },
      ],
    });
  });

  it('sends a change, and nothing for an equal snapshot', async () => {
    const snapshot = Snapshot.from(echo);
    const { server, client, until } = await setUp({ snapshot });
    const stream = client.open();
    stream.subscribe(EDS, ['echo'], node('test'));
    const before = await stream.next();
    const acked = until('acked');
    stream.ack(before, ['echo']);
    await acked;

    server.setSnapshot(Snapshot.from(echo));
    server.setSnapshot(snapshot.with({ endpoints: [endpoints('echo', 50052)] }));
    const after = await stream.next();
    expect(after.nonce).toBe('2');
    expect(after.version_info).not.toBe(before.version_info);
    expect(
      JSON.stringify(decodeOfficial(EDS, after.resources[0]?.value ?? Buffer.alloc(0))),
    ).toContain('50052');
    expect(stream.received).toEqual([]);
  });

  it('reports connected clients, their subscriptions and their acknowledgements', async () => {
    const { server, client, until } = await setUp({ snapshot: Snapshot.from(echo) });
    expect(server.clients()).toEqual([]);
    const stream = client.open();

    stream.subscribe(CDS, ['echo', 'absent'], node('node-1'));
    const first = await stream.next();
    let heard = until('acked');
    stream.ack(first, ['echo', 'absent']);
    await heard;
    expect(server.clients()).toEqual([
      {
        streamId: 1,
        nodeId: 'node-1',
        node: expect.objectContaining({ id: 'node-1' }),
        method: 'StreamAggregatedResources',
        peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        connectedAtMs: expect.any(Number),
        types: new Map([
          [
            CDS,
            {
              typeUrl: CDS,
              subscribed: ['echo', 'absent'],
              wildcard: false,
              sentVersion: first.version_info,
              ackedVersion: first.version_info,
              rejection: undefined,
            },
          ],
        ]),
      },
    ]);

    server.setSnapshot(Snapshot.from({ clusters: [{ ...cluster('echo'), lb_policy: 'RANDOM' }] }), {
      allowInconsistent: true,
    });
    const second = await stream.next();
    heard = until('nacked');
    stream.nack(second, ['echo', 'absent'], 'lb_policy: unsupported', first.version_info);
    expect(await heard).toEqual({
      kind: 'nacked',
      client: { streamId: 1, nodeId: 'node-1', peer: expect.any(String) },
      typeUrl: CDS,
      version: second.version_info,
      message: 'lb_policy: unsupported',
    });
    expect(server.clients()[0]?.types.get(CDS)).toMatchObject({
      sentVersion: second.version_info,
      ackedVersion: first.version_info,
      rejection: { version: second.version_info, message: 'lb_policy: unsupported' },
    });

    heard = until('disconnected');
    stream.cancel();
    await heard;
    expect(server.clients()).toEqual([]);
  });

  it('ends the stream after the client half-closes it', async () => {
    const { server, client } = await setUp({ snapshot: Snapshot.from(echo) });
    const stream = client.open();
    stream.subscribe(LDS, ['echo'], node('test'));
    await stream.next();
    stream.end();
    expect(await stream.ended).toEqual({ code: 0, details: 'OK' });
    expect(server.clients()).toEqual([]);
  });

  it('keeps the current snapshot when a new one is not consistent', async () => {
    const { server, client } = await setUp({ snapshot: Snapshot.from(echo) });
    const broken = Snapshot.from({ ...echo, clusters: [] });
    expect(() => server.setSnapshot(broken)).toThrow(
      new ConsistencyError([
        'route configuration "echo-routes": virtual_hosts[0].routes[0].route.cluster: ' +
          'cluster "echo" is not in the snapshot',
      ]),
    );
    const stream = client.open();
    stream.subscribe(CDS, ['echo'], node('test'));
    expect((await stream.next()).resources).toHaveLength(1);
    server.setSnapshot(broken, { allowInconsistent: true });
    expect((await stream.next()).resources).toHaveLength(0);
  });

  it('rejects an initial snapshot that is not consistent', () => {
    const snapshot = Snapshot.from({ clusters: [cluster('echo')] });
    expect(() => new ControlPlane({ snapshot })).toThrow(
      'the snapshot is not consistent:\ncluster "echo": name: endpoint assignment "echo" is not in the snapshot',
    );
  });

  it.each(['xds.config.resource-in-sotw', 'xds.config.supports-resource-in-sotw'])(
    'wraps resources for clients with the feature %s if it is told to',
    async (feature) => {
      const { client } = await setUp({ snapshot: Snapshot.from(echo) }, WrappingControlPlane);
      const plain = client.open();
      plain.subscribe(LDS, ['echo'], node('plain'));
      expect((await plain.next()).resources[0]?.type_url).toBe(LDS);

      const wrapped = client.open();
      wrapped.subscribe(LDS, ['echo'], node('wrapped', [feature]));
      const resource = (await wrapped.next()).resources[0];
      expect(resource?.type_url).toBe('type.googleapis.com/envoy.service.discovery.v3.Resource');
      expect(
        decodeOfficial('envoy.service.discovery.v3.Resource', resource?.value ?? Buffer.alloc(0)),
      ).toEqual({
        name: 'echo',
        version: expect.stringMatching(/^[0-9a-f]{16}$/),
        resource: { type_url: LDS, value: expect.anything() },
      });
    },
  );

  it('fails a stream whose request has no type URL', async () => {
    const { client } = await setUp();
    const stream = client.open();
    stream.send({ resource_names: ['echo'] });
    expect(await stream.ended).toEqual({ code: 3, details: 'type_url: field not present' });
  });

  it('reports each subscription, and logs an exception of an observer', async () => {
    const requests: unknown[] = [];
    const errors: string[] = [];
    const { client } = await setUp({
      snapshot: Snapshot.from(echo),
      logger: { trace() {}, info() {}, error: (text) => errors.push(text()) },
      onClientEvent: (event) => {
        if (event.kind !== 'subscribed') return;
        requests.push([event.client.nodeId, event.typeUrl, event.names]);
        throw new Error('oops');
      },
    });
    const stream = client.open();
    stream.subscribe(LDS, ['echo'], node('test'));
    expect((await stream.next()).resources).toHaveLength(1);
    expect(requests).toEqual([['test', LDS, ['echo']]]);
    expect(errors).toEqual(['control plane: onClientEvent threw: oops']);
  });

  it('logs the rejection of an observer that is asynchronous, and survives a logger that throws', async () => {
    const errors: string[] = [];
    const { client } = await setUp({
      snapshot: Snapshot.from(echo),
      logger: {
        trace() {},
        info() {},
        error(text) {
          errors.push(text());
          throw new Error('this logger is broken');
        },
      },
      // eslint-disable-next-line @typescript-eslint/no-misused-promises -- what plain JavaScript does
      onClientEvent: ({ kind }) =>
        kind === 'subscribed' ? Promise.reject(new Error('late')) : undefined,
    });
    const stream = client.open();
    stream.subscribe(LDS, ['echo'], node('test'));
    expect((await stream.next()).resources).toHaveLength(1);
    expect(errors).toEqual(['control plane: onClientEvent threw: late']);
  });

  it('sends responses in order when an observer sets a snapshot', async () => {
    const next = Snapshot.from({ ...echo, endpoints: [endpoints('echo', 2)] });
    const { server, client } = await setUp({
      snapshot: Snapshot.from(echo),
      onClientEvent: (event) => {
        if (event.kind === 'subscribed') server.setSnapshot(next);
      },
    });
    const stream = client.open();
    stream.subscribe(EDS, ['echo'], node('test'));
    expect([(await stream.next()).nonce, (await stream.next()).nonce]).toEqual(['1', '2']);
  });

  it('ends streams with UNAVAILABLE on stop, and restarts on the same port', async () => {
    const { server, client, port } = await setUp({ snapshot: Snapshot.from(echo) });
    const stream = client.open();
    stream.subscribe(LDS, ['echo'], node('test'));
    await stream.next();
    await server.close();
    expect(await stream.ended).toEqual({ code: 14, details: 'the control plane is shutting down' });
    expect(server.clients()).toEqual([]);
    await server.close();

    await server.start(port);
    await expect(server.start()).rejects.toThrow('the control plane is already started');
    const again = new AdsClient(`127.0.0.1:${port}`);
    cleanUp.push(() => again.close());
    const second = again.open();
    second.subscribe(LDS, ['echo'], node('test'));
    expect((await second.next()).nonce).toBe('1');
  });

  it('closes connections on kill, and restarts', async () => {
    const { server, client, port, until } = await setUp({ snapshot: Snapshot.from(echo) });
    const stream = client.open();
    stream.subscribe(LDS, ['echo'], node('test'));
    await stream.next();
    const disconnected = until('disconnected');
    void server.close({ force: true });
    void server.close({ force: true });
    expect((await stream.ended).code).toBe(14);
    await disconnected;
    expect(server.clients()).toEqual([]);
    await server.start(port);
  });

  it('closes at once what an earlier close() still waits for', async () => {
    const { server, client } = await setUp({ snapshot: Snapshot.from(echo) });
    const stream = client.open();
    stream.subscribe(LDS, ['echo'], node('test'));
    await stream.next();
    const closed = server.close({ moveMs: 3_600_000 });
    await server.close({ force: true });
    expect((await stream.ended).code).toBe(14);
    await closed;
    expect(server.clients()).toEqual([]);
  });

  it('refuses options that contradict each other', async () => {
    const { server } = await setUp();
    await expect(server.close({ force: true, moveMs: 1 })).rejects.toMatchObject({
      code: 'XDS_OPTION_INVALID',
      message: 'grpc-xds: ControlPlane.close() takes either moveMs or force',
    });
    await server.close({ force: true, moveMs: 0 });
    const both = { nodeId: 'a', group: 'b' };
    expect(() => server.setSnapshot(Snapshot.empty, both)).toThrow(
      expect.objectContaining({
        code: 'XDS_OPTION_INVALID',
        message: 'grpc-xds: ControlPlane.setSnapshot() takes either nodeId or group',
      }),
    );
  });

  it('reports the address it cannot use, and can be started again', async () => {
    const { port } = await setUp();
    const second = new ControlPlane();
    await expect(second.start(port)).rejects.toThrow(
      `listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
    );
    await second.start();
    await second.close();
  });

  it('serves resources named like properties of Object.prototype', async () => {
    const names = ['constructor', '__proto__', 'toString'];
    const snapshot = Snapshot.from({
      listeners: names.map((name) => listener(name, name)),
      routes: names.map((name) => route(name, name)),
      clusters: names.map(cluster),
      endpoints: names.map((name) => endpoints(name, 1)),
    });
    const { client } = await setUp({ snapshot });
    const stream = client.open();
    stream.subscribe(EDS, names, node('test'));
    expect((await stream.next()).resources).toHaveLength(3);
  });
});
