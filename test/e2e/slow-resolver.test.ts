import { Metadata } from '@grpc/grpc-js';
import { explainCall, inspect, type HeldBackReport, type TargetReport } from '../../src';
import { serveAdminPage } from '../../packages/page/src';
import { echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { dnsClusterJson } from '../support/failover';
import {
  SERVICE,
  simpleResources,
  DISTANT_VARIANTS,
  type MeshResources,
  useMesh,
} from '../support/mesh';
import { getPage, readPage } from '../support/page-reader';
import { SLOW_HOST, SlowLookups } from '../support/slow-lookups';
import { routeConfigJson, routeToCluster, type Json } from '../support/xds-json';

const TARGET = `xds:///${SERVICE}`;
const RESOLVER = 'getaddrinfo of the operating system has not answered since 20.*Z';

/** A route to the cluster with the slow name, of the calls with the header `to: slow`. */
const slowRoute: Json = {
  match: { prefix: '', headers: [{ name: 'to', string_match: { exact: 'slow' } }] },
  route: { cluster: 'slow' },
};

function toSlow(): Metadata {
  const metadata = new Metadata();
  metadata.set('to', 'slow');
  return metadata;
}

function report(): TargetReport | undefined {
  return inspect({ target: TARGET }).targets[0];
}

describe.each(DISTANT_VARIANTS)('a resolver that does not answer, %s', (_name, features) => {
  const mesh = useMesh({ features });
  let slowPort = 0;
  let lookups: SlowLookups;

  beforeEach(async () => {
    lookups = new SlowLookups();
    slowPort = (await mesh.backend('slow')).port;
  });
  afterEach(() => {
    lookups.release();
  });

  /** Adds the cluster with the slow name, and a route to it before the others. */
  function withSlow({ routes: _routes, clusters, ...rest }: MeshResources): MeshResources {
    const routes = [routeConfigJson(`${SERVICE}-routes`, [slowRoute, routeToCluster('echo')])];
    return {
      ...rest,
      routes,
      clusters: [...clusters, dnsClusterJson('slow', slowPort, SLOW_HOST)],
    };
  }

  // 1. A channel is in use. 2. A route to a cluster with a slow name is added. 3. The endpoints of the cluster in use move.
  it('holds back the routes that name it, and nothing else, and is shown everywhere', async () => {
    const [a, b] = [await mesh.backend('a'), await mesh.backend('b')];
    mesh.serve(simpleResources([a.port]));
    const client = mesh.client();
    expect(await client.say()).toBe('a');

    mesh.serve(withSlow(simpleResources([a.port])));
    const [held] = await eventually(
      () => report()?.heldBack ?? [],
      (all) => all.length > 1 && lookups.pending > 0,
    );
    expect(held).toEqual<HeldBackReport>({
      resource: `RouteConfiguration "${SERVICE}-routes"`,
      receivedAt: expect.stringMatching(/^20.*Z$/),
      hasEarlier: true,
      waitsFor: ['DNS name "slow.test:' + `${slowPort}" of Cluster "slow"`],
      text: expect.stringMatching(
        /: received \d+\.\d s ago, in use: the version before, waits for DNS name "slow\.test:/,
      ),
    });
    mesh.serve(withSlow(simpleResources([b.port])));
    await eventually(() => client.say(), 'b');
    const wait = new RegExp(`^DNS name "slow.test:${slowPort}" of Cluster "slow": .*${RESOLVER}`);
    expect(report()).toMatchObject({
      state: 'ready',
      waitingFor: [expect.stringMatching(wait)],
      heldBack: [{ resource: held?.resource }, { resource: 'Cluster "slow"', hasEarlier: false }],
    });
    expect(explainCall(TARGET, echoMethod.path, toSlow()).toString()).toMatch(
      new RegExp(
        `held back: RouteConfiguration .*\nheld back: .*\nheld back: DNS name .*${RESOLVER}`,
      ),
    );
    await expectOnPage(/^RouteConfiguration .* waits for DNS name "slow/);

    lookups.answer();
    await eventually(() => client.say({ metadata: toSlow() }), 'slow');
    expect(report()).toMatchObject({ waitingFor: [], heldBack: [] });
  });

  async function expectOnPage(text: RegExp): Promise<void> {
    const page = await serveAdminPage({ port: 0 });
    try {
      const stream = await readPage(page, 'view=targets');
      const rows = () => stream.messages.flatMap(({ data }) => data.views['targets']?.rows ?? []);
      const [row] = await eventually(rows, (all) => all.length > 0);
      expect(row).toMatchObject({
        heldBack: expect.arrayContaining([expect.stringMatching(text)]),
      });
      expect((await getPage(page, '/')).status).toBe(200);
    } finally {
      await page.close();
    }
  }

  it('leaves the first calls to other clusters alone, and is named to those that wait for it', async () => {
    const a = await mesh.backend('a');
    mesh.serve(withSlow(simpleResources([a.port])));
    const client = mesh.client();
    expect(await client.say()).toBe('a');
    const { details } = await client.failure({ deadlineMs: 500, metadata: toSlow() });
    expect(details).toMatch(
      new RegExp(
        `Waiting for LB pick; DNS name "slow.test:${slowPort}" of Cluster "slow": waiting for .*${RESOLVER} \\(management server .*: check the name`,
      ),
    );
    lookups.answer();
    expect(await client.say({ metadata: toSlow() })).toBe('slow');
  });

  it('is named to calls for which there is no other cluster', async () => {
    mesh.serve({
      ...simpleResources([]),
      routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster('slow')])],
      clusters: [dnsClusterJson('slow', slowPort, SLOW_HOST)],
    });
    const client = mesh.client();
    const { details } = await eventually(
      () => client.failure({ deadlineMs: 500 }),
      () => lookups.pending > 0,
    );
    expect(details).toMatch(
      new RegExp(`waiting for the configuration; DNS name "slow.test:.*${RESOLVER}`),
    );
    lookups.answer();
    expect(await client.say()).toBe('slow');
  });
});
