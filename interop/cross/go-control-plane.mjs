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
import { call, demand, demandShares, isOnly, noneFailed, until, untilOnly } from './judging.mjs';

const SERVICE = 'go-control-plane.test';
const TARGET = `xds:///${SERVICE}`;
/** The node that the control plane has resources for. */
export const NODE = 'node';

const types = {
  listeners: 'envoy.config.listener.v3.Listener',
  routes: 'envoy.config.route.v3.RouteConfiguration',
  clusters: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
};

/** A service with clusters of these servers. */
export const service = (serversByCluster, routes, clusterExtra = {}) => ({
  listeners: [listener({ name: SERVICE })],
  routes: [routeConfig(routes)],
  clusters: Object.keys(serversByCluster).map((name) => cluster(name, clusterExtra)),
  endpoints: Object.entries(serversByCluster).map(([name, servers]) =>
    assignment(name, { servers }),
  ),
});

/** One control plane, and clients that are all to do the same. */
export class Setup {
  #version = 0;

  /**
   * @param options.clients The names of the clients.
   * @param options.nodeOf Returns the node id of a client. Default: that which the control plane has resources for.
   * @param options.hop Starts what is between the control plane, whose address it has, and the clients; resolves with its
   * address. Default: nothing is.
   */
  constructor(peers, { cache, clients, nodeOf = () => NODE, hop = (address) => address }) {
    Object.assign(this, { peers, cache, names: clients, nodeOf, hop });
  }

  async start() {
    this.controlPlane = await this.peers.goControlPlane(this.cache);
    this.port = this.controlPlane.greeting.port;
    const address = await this.hop(`127.0.0.1:${this.port}`);
    this.clients = await Promise.all(
      this.names.map((name) => this.peers.client(name, address, { node: this.nodeOf(name) })),
    );
  }

  serve(resources) {
    const all = Object.entries(resources).flatMap(([list, items]) =>
      items.map((item) => typed(types[list], item)),
    );
    const version = String(++this.#version);
    return this.controlPlane.ask({ do: 'set', node: NODE, version, resources: all });
  }

  /** Makes calls with all clients. @param isRight What the counts of each must be, which `what` describes. */
  async call(count, isRight, what) {
    const check = async (client) => {
      const counts = await call(client, TARGET, count);
      demand(isRight(counts), what, counts);
      return counts;
    };
    return Promise.all(this.clients.map(check));
  }

  /** Makes calls with all clients, which only these servers may answer. */
  callOnly(count, names) {
    return this.call(count, (counts) => isOnly(names, counts), names.join(', '));
  }

  /** Calls with each client until these servers alone answer. */
  untilOnly(names, options) {
    return Promise.all(this.clients.map((client) => untilOnly(client, TARGET, names, options)));
  }

  /** Calls with each client, and demands that servers get these shares. */
  async callShares(count, shares) {
    for (const counts of await this.call(count, () => true)) demandShares(shares, counts);
  }

  /**
   * Leads the calls to another cluster as a careful server does: what is new comes before the route to it, and what
   * is old goes when no route leads there. Calls are made all the while, none of which may fail by it.
   */
  async moveTo(name, serversByCluster, peers) {
    await this.serve(service(serversByCluster, [anyRoute(name)]));
    await until(
      () => this.call(10, noneFailed, 'no failure'),
      (all) => all.every((counts) => isOnly(peers, counts)),
      peers.join(', '),
    );
    await this.serve(service({ [name]: serversByCluster[name] }, [anyRoute(name)]));
    await this.callOnly(20, peers);
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
    await Promise.all((this.clients ?? []).map((client) => client.stop()));
    await this.controlPlane.stop();
  }
}

/** Each client calls the field by a name of its own, such as `lbPolicy`. */
const isOfPolicy = (text) => /lb.?policy/i.test(text);

/** By name: what is done, one after the other, with the same clients. */
const STEPS = {
  'ping: the only server answers': async ({ setup, servers: [a] }) => {
    await setup.serve(service({ one: [a] }, [anyRoute('one')]));
    await setup.callOnly(20, [a.name]);
  },
  'endpoints change: three servers get equal shares': async ({ setup, servers }) => {
    const three = servers.slice(0, 3);
    await setup.serve(service({ one: three }, [anyRoute('one')]));
    const names = three.map(({ name }) => name);
    await setup.untilOnly(names);
    await setup.callShares(300, Object.fromEntries(names.map((name) => [name, 1 / 3])));
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
    await setup.untilOnly([a.name, b.name]);
    await setup.callShares(400, { [a.name]: 0.2, [b.name]: 0.8 });
  },
  'routes change: a header chooses the cluster': async ({ setup, servers: [a, b] }) => {
    const headers = [{ name: 'to', string_match: { exact: 'two' } }];
    const routes = [route({ prefix: '', headers }, 'two'), anyRoute('one')];
    await setup.serve(service({ one: [a], two: [b] }, routes));
    await setup.untilOnly([a.name]);
    await setup.untilOnly([b.name], { headers: { to: 'two' } });
  },
  'a cluster is replaced: no call fails': async ({ setup, servers: [a, , c] }) => {
    await setup.serve(service({ one: [a] }, [anyRoute('one')]));
    await setup.untilOnly([a.name]);
    await setup.moveTo('three', { one: [a], three: [c] }, [c.name]);
  },
  'an update is rejected: the server is told, the old one stays, a good one is taken': async ({
    setup,
    servers: [a, b, c],
  }) => {
    const routes = [anyRoute('one')];
    await setup.moveTo('one', { one: [a], three: [c] }, [a.name]);
    await setup.serve(service({ one: [b] }, routes, { lb_policy: 'MAGLEV' }));
    await until(
      () => setup.seen(),
      ({ rejections }) => rejections.some(isOfPolicy),
      'a rejection of lb_policy',
    );
    await setup.call(10, ({ codes }) => codes[0] === 10, 'no failure');
    await setup.serve(service({ one: [b] }, routes));
    await setup.untilOnly([b.name]);
  },
  'the control plane restarts: calls go on, changes arrive again': async ({
    setup,
    servers: [a, b],
  }) => {
    await setup.controlPlane.stop();
    await setup.callOnly(20, [b.name]);
    await setup.restart(service({ one: [a] }, [anyRoute('one')]));
    await setup.untilOnly([a.name]);
  },
};

/** Runs all steps. @param variant Of the streams at the control plane: `sotw` or `delta`. */
export const runSteps = async ({ setup, servers, step, variant }) => {
  for (const [name, run] of Object.entries(STEPS)) {
    await step(name, () => run({ setup, servers }));
  }
  await step(`the stream was of the variant ${variant}`, async () => {
    const seen = await setup.seen();
    const other = variant === 'sotw' ? 'delta' : 'sotw';
    if (seen[variant] === 0 || seen[other] > 0) throw new Error(JSON.stringify(seen));
  });
};

/** The client by the variant of the protocol that it speaks. */
const VARIANTS = { sotw: 'node', delta: 'node-delta' };

/** All steps in every combination of cache and variant. */
export const goControlPlaneCases = ['snapshot', 'linear'].flatMap((cache) =>
  Object.entries(VARIANTS).map(([variant, clientName]) => ({
    name: `go-control-plane: ${cache} cache, ${variant}`,
    languages: ['go'],
    run: async ({ peers, servers, step }) => {
      const setup = new Setup(peers, { cache, clients: [clientName] });
      await setup.start();
      try {
        await runSteps({ setup, servers, step, variant });
      } finally {
        await setup.stop();
      }
    },
  })),
);
