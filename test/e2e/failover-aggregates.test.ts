import { status } from '@grpc/grpc-js';
import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  aggregateJson,
  dnsClusterJson,
  RECONNECT_SOON,
  routed,
  untilAnsweredBy,
} from '../support/failover';
import { Load } from '../support/load';
import { useMesh } from '../support/mesh';
import { edsClusterJson, endpointsJson, type Json } from '../support/xds-json';

describe('an aggregate cluster', () => {
  const mesh = useMesh();
  let a: EchoBackend;
  let b: EchoBackend;
  let c: EchoBackend;
  let client: EchoClient;

  beforeEach(async () => {
    [a, b, c] = [await mesh.backend('a'), await mesh.backend('b'), await mesh.backend('c')];
    client = mesh.client(RECONNECT_SOON);
  });

  const endpoints = (cluster: string, ...backends: readonly EchoBackend[]): Json =>
    endpointsJson(cluster, [{ zone: 'z', ports: backends.map(({ port }) => port) }]);

  /** Serves EDS clusters of one backend each, and whatever else is given. */
  function serve(
    aggregates: readonly Json[],
    eds: Readonly<Record<string, EchoBackend>>,
    others: readonly Json[] = [],
  ): void {
    const names = Object.keys(eds);
    mesh.serve(
      routed(
        [...aggregates, ...names.map((name) => edsClusterJson(name)), ...others],
        Object.entries(eds).map(([name, backend]) => endpoints(name, backend)),
      ),
    );
  }

  it('of aggregates uses all their clusters in depth-first order', async () => {
    const nested = [
      aggregateJson('echo', ['first', 'three']),
      aggregateJson('first', ['one', 'inner']),
      aggregateJson('inner', ['two']),
    ];
    serve(nested, { one: a, two: b, three: c });
    await untilAnsweredBy(client, 'a');
    const load = new Load(client, 2);
    await a.drain();
    await untilAnsweredBy(client, 'b');
    await b.drain();
    await untilAnsweredBy(client, 'c');
    await a.listen();
    await untilAnsweredBy(client, 'a');
    expect((await load.stop()).failures).toEqual([]);
  });

  it('goes through the priorities of its first cluster before it turns to the second', async () => {
    const first = endpointsJson('one', [
      { zone: 'x', ports: [a.port] },
      { zone: 'y', priority: 1, ports: [b.port] },
    ]);
    const clusters = [
      aggregateJson('echo', ['one', 'two']),
      edsClusterJson('one'),
      edsClusterJson('two'),
    ];
    mesh.serve(routed(clusters, [first, endpoints('two', c)]));
    await untilAnsweredBy(client, 'a');
    a.stop();
    await untilAnsweredBy(client, 'b');
    expect(c.peers.size).toBe(0);
    b.stop();
    await untilAnsweredBy(client, 'c');
  });

  it('follows a change of its list, and of their order', async () => {
    const eds = { one: a, two: b, three: c };
    serve([aggregateJson('echo', ['one', 'two'])], eds);
    await untilAnsweredBy(client, 'a');
    const load = new Load(client, 2);
    serve([aggregateJson('echo', ['two', 'one'])], eds);
    await untilAnsweredBy(client, 'b');
    serve([aggregateJson('echo', ['three', 'two'])], eds);
    await untilAnsweredBy(client, 'c');
    serve([aggregateJson('echo', ['one', 'three'])], eds);
    await untilAnsweredBy(client, 'a');
    expect((await load.stop()).failures).toEqual([]);
  });

  it('may turn into a cluster with endpoints of its own, and back', async () => {
    serve([aggregateJson('echo', ['one', 'two'])], { one: a, two: b });
    await untilAnsweredBy(client, 'a');
    const load = new Load(client, 2);
    serve([], { echo: c });
    await untilAnsweredBy(client, 'c');
    serve([aggregateJson('echo', ['two'])], { two: b });
    await untilAnsweredBy(client, 'b');
    expect((await load.stop()).failures).toEqual([]);
  });

  it('follows a cluster of it that changes from EDS to DNS and back', async () => {
    serve([aggregateJson('echo', ['one', 'two'])], { one: a, two: c });
    await untilAnsweredBy(client, 'a');
    const load = new Load(client, 2);
    serve([aggregateJson('echo', ['one', 'two'])], { two: c }, [dnsClusterJson('one', b.port)]);
    await untilAnsweredBy(client, 'b');
    serve([aggregateJson('echo', ['one', 'two'])], { one: a, two: c });
    await untilAnsweredBy(client, 'a');
    expect((await load.stop()).failures).toEqual([]);
  });

  it('of one DNS cluster follows a change of its name', async () => {
    const serveDns = (port: number, host: string): void => {
      serve([aggregateJson('echo', ['dns'])], {}, [dnsClusterJson('dns', port, host)]);
    };
    serveDns(a.port, 'localhost');
    await untilAnsweredBy(client, 'a');
    serveDns(b.port, '127.0.0.1');
    await untilAnsweredBy(client, 'b');
  });

  it('says why a name of it cannot be resolved, when nothing else is left', async () => {
    const eds = { ...endpoints('one'), endpoints: [] };
    mesh.serve(
      routed(
        [
          aggregateJson('echo', ['one', 'dns']),
          edsClusterJson('one'),
          dnsClusterJson('dns', 80, 'does-not-exist.invalid'),
        ],
        [eds],
      ),
    );
    const { code, details } = await client.failure();
    expect(code).toBe(status.UNAVAILABLE);
    expect(details).toContain('DNS resolution of does-not-exist.invalid:80 failed: getaddrinfo');
  });

  it('goes to the next cluster when the first has no endpoints', async () => {
    mesh.serve(
      routed(
        [
          aggregateJson('echo', ['one', 'dns']),
          edsClusterJson('one'),
          dnsClusterJson('dns', b.port),
        ],
        [{ cluster_name: 'one' }],
      ),
    );
    expect(await client.say()).toBe('b');
  });

  describe('whose first cluster has endpoints that are rejected', () => {
    const bad = (name: string): Json => ({
      cluster_name: name,
      endpoints: [{ locality: {}, load_balancing_weight: 1, priority: 3 }],
    });
    const serveFirst = (first: Json): void => {
      const clusters = [
        aggregateJson('echo', ['one', 'two']),
        edsClusterJson('one'),
        edsClusterJson('two'),
      ];
      mesh.serve(routed(clusters, [first, endpoints('two', b)]));
    };

    it('goes on with the endpoints that it had', async () => {
      serveFirst(endpoints('one', a));
      await untilAnsweredBy(client, 'a');
      serveFirst(bad('one'));
      await eventually(
        () => mesh.controlPlane.clients().flatMap(({ types }) => [...types.values()]),
        (types) => types.some(({ rejection }) => rejection !== undefined),
      );
      for (let i = 0; i < 20; i++) expect(await client.say()).toBe('a');
    });

    it('goes to the second if it never had any', async () => {
      serveFirst(bad('one'));
      expect(await client.say()).toBe('b');
      serveFirst(endpoints('one', a));
      await untilAnsweredBy(client, 'a');
    });
  });

  it('that leads to itself only fails calls, and serves again once it leads to endpoints', async () => {
    serve([aggregateJson('echo', ['inner']), aggregateJson('inner', ['echo'])], {});
    const { code, details } = await client.failure();
    expect(code).toBe(status.UNAVAILABLE);
    expect(details).toContain('leads to no leaf cluster');
    serve([aggregateJson('echo', ['inner']), aggregateJson('inner', ['echo', 'one'])], { one: a });
    await eventually(() => client.say().catch(() => ''), 'a');
  });

  it('that is nested too deep fails calls and says so', async () => {
    const chain = Array.from({ length: 17 }, (_, i) =>
      aggregateJson(i === 0 ? 'echo' : `c${i}`, [i === 16 ? 'one' : `c${i + 1}`]),
    );
    serve(chain, { one: a });
    expect((await client.failure()).details).toContain('nested more than 16 clusters deep');
  });
});
