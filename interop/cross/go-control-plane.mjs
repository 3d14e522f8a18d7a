// Our client and go-control-plane.
import {
  anyRoute,
  assignment,
  cluster,
  listener,
  route,
  routeConfig,
  typed,
} from '../harness/resources.mjs';
import { call, demand, demandShares, isOnly, until, untilOnly } from './judging.mjs';

const SERVICE = 'go-control-plane.test';
const TARGET = `xds:///${SERVICE}`;
const NODE = 'node';

const types = {
  listeners: 'envoy.config.listener.v3.Listener',
  routes: 'envoy.config.route.v3.RouteConfiguration',
  clusters: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
};

/** A service with clusters of these servers. */
const service = (serversByCluster, routes, clusterExtra = {}) => ({
  listeners: [listener({ name: SERVICE })],
  routes: [routeConfig(routes)],
  clusters: Object.keys(serversByCluster).map((name) => cluster(name, clusterExtra)),
  endpoints: Object.entries(serversByCluster).map(([name, servers]) =>
    assignment(name, { servers }),
  ),
});

/** One control plane and one client. */
class Setup {
  #version = 0;

  constructor(peers, cache, clientName) {
    Object.assign(this, { peers, cache, clientName });
  }

  async start() {
    this.controlPlane = await this.peers.goControlPlane(this.cache);
    this.port = this.controlPlane.greeting.port;
    const address = `127.0.0.1:${this.port}`;
    this.client = await this.peers.client(this.clientName, address, { node: NODE });
  }

  serve(resources) {
    const all = Object.entries(resources).flatMap(([list, items]) =>
      items.map((item) => typed(types[list], item)),
    );
    const version = String(++this.#version);
    return this.controlPlane.ask({ do: 'set', node: NODE, version, resources: all });
  }

  /**
   * Leads the calls to another cluster as a careful server does: what is new comes before the route to it, and what
   * is old goes when no route leads there. Calls are made all the while, none of which may fail.
   */
  async moveTo(name, serversByCluster, peers) {
    await this.serve(service(serversByCluster, [anyRoute(name)]));
    await until(
      async () => {
        const counts = await call(this.client, TARGET, 10);
        demand(Object.keys(counts.codes).join() === '0', 'no failure', counts);
        return counts;
      },
      (counts) => isOnly(peers, counts),
      peers.join(', '),
    );
    await this.serve(service({ [name]: serversByCluster[name] }, [anyRoute(name)]));
    const counts = await call(this.client, TARGET, 20);
    demand(isOnly(peers, counts), peers.join(', '), counts);
  }

  async restart(resources) {
    await this.controlPlane.stop();
    this.controlPlane = await this.peers.goControlPlane(this.cache, this.port);
    await this.serve(resources);
  }

  seen() {
    return this.controlPlane.ask({ do: 'seen' });
  }

  async stop() {
    await this.client.stop();
    await this.controlPlane.stop();
  }
}

/** By name: what is done, one after the other, with the same client. */
const STEPS = {
  'ping: the only server answers': async ({ setup, servers: [a] }) => {
    await setup.serve(service({ one: [a] }, [anyRoute('one')]));
    const counts = await call(setup.client, TARGET, 20);
    demand(isOnly([a.name], counts), a.name, counts);
  },
  'endpoints change: three servers get equal shares': async ({ setup, servers }) => {
    const three = servers.slice(0, 3);
    await setup.serve(service({ one: three }, [anyRoute('one')]));
    const names = three.map(({ name }) => name);
    await untilOnly(setup.client, TARGET, names);
    const counts = await call(setup.client, TARGET, 300);
    demandShares(Object.fromEntries(names.map((name) => [name, 1 / 3])), counts);
  },
  'routes change: calls are split 20 to 80': async ({ setup, servers: [a, b] }) => {
    const weighted = {
      match: { prefix: '' },
      route: {
        weighted_clusters: {
          clusters: [
            { name: 'one', weight: 20 },
            { name: 'two', weight: 80 },
          ],
        },
      },
    };
    await setup.serve(service({ one: [a], two: [b] }, [weighted]));
    await untilOnly(setup.client, TARGET, [a.name, b.name]);
    const counts = await call(setup.client, TARGET, 400);
    demandShares({ [a.name]: 0.2, [b.name]: 0.8 }, counts);
  },
  'routes change: a header chooses the cluster': async ({ setup, servers: [a, b] }) => {
    const headers = [{ name: 'to', string_match: { exact: 'two' } }];
    const routes = [route({ prefix: '', headers }, 'two'), anyRoute('one')];
    await setup.serve(service({ one: [a], two: [b] }, routes));
    await untilOnly(setup.client, TARGET, [a.name]);
    await untilOnly(setup.client, TARGET, [b.name], { headers: { to: 'two' } });
  },
  'a cluster is replaced: no call fails': async ({ setup, servers: [a, , c] }) => {
    await setup.serve(service({ one: [a] }, [anyRoute('one')]));
    await untilOnly(setup.client, TARGET, [a.name]);
    await setup.moveTo('three', { one: [a], three: [c] }, [c.name]);
  },
  'an update is rejected: the server is told, the old one stays, a good one is taken': async ({
    setup,
    servers: [a, b, c],
  }) => {
    const routes = [anyRoute('one')];
    await setup.moveTo('one', { one: [a], three: [c] }, [a.name]);
    await setup.serve(service({ one: [b] }, routes, { lb_policy: 'MAGLEV' }));
    const isTold = ({ rejections }) => rejections.some((text) => text.includes('lb_policy'));
    await until(() => setup.seen(), isTold, 'a rejection of lb_policy');
    const counts = await call(setup.client, TARGET, 10);
    demand(counts.codes[0] === 10, 'no failure', counts);
    await setup.serve(service({ one: [b] }, routes));
    await untilOnly(setup.client, TARGET, [b.name]);
  },
  'the control plane restarts: calls go on, changes arrive again': async ({
    setup,
    servers: [a, b],
  }) => {
    await setup.controlPlane.stop();
    const counts = await call(setup.client, TARGET, 20);
    demand(isOnly([b.name], counts), b.name, counts);
    await setup.restart(service({ one: [a] }, [anyRoute('one')]));
    await untilOnly(setup.client, TARGET, [a.name]);
  },
};

/** The client by the variant of the protocol that it speaks. */
const VARIANTS = { sotw: 'node', delta: 'node-delta' };

/** All steps in every combination of cache and variant. */
export const goControlPlaneCases = ['snapshot', 'linear'].flatMap((cache) =>
  Object.entries(VARIANTS).map(([variant, clientName]) => ({
    name: `go-control-plane: ${cache} cache, ${variant}`,
    languages: ['go'],
    run: async ({ peers, servers, step }) => {
      const setup = new Setup(peers, cache, clientName);
      await setup.start();
      try {
        for (const [name, run] of Object.entries(STEPS)) {
          await step(name, () => run({ setup, servers }));
        }
        await step(`the stream was of the variant ${variant}`, async () => {
          const seen = await setup.seen();
          const other = variant === 'sotw' ? 'delta' : 'sotw';
          if (seen[variant] === 0 || seen[other] > 0) throw new Error(JSON.stringify(seen));
        });
      } finally {
        await setup.stop();
      }
    },
  })),
);
