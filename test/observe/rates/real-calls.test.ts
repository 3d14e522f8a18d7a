import { serveAdminPage, type AdminPage } from '../../../packages/page/src';
import { processRates } from '../../../src/observe/rates/process-rates';
import { ReadRates } from '../../../src/observe/rates/read-rates';
import type { TargetRates } from '../../../src/observe/rates/target-rates';
import { eventually } from '../../support/eventually';
import type { EchoClient } from '../../support/echo-backend';
import { Mesh, SERVICE, simpleResources, type MeshResources } from '../../support/mesh';
import { readPage, type PageStream } from '../../support/page-reader';
import {
  routeToSplit,
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  type Json,
} from '../../support/xds-json';

const TARGET = `xds:///${SERVICE}`;
const SPLIT_CALLS = 10_000;
const AT_ONCE = 100;

describe('the rates of real calls', () => {
  let mesh: Mesh;
  let page: AdminPage;
  beforeEach(async () => {
    mesh = await Mesh.start();
    page = await serveAdminPage({ port: 0 });
  });
  afterEach(async () => {
    await page.close();
    mesh.stop();
  });

  function counted(): TargetRates {
    const found = processRates.counting?.get(TARGET);
    if (found === undefined) throw new Error('nothing is counted');
    return found;
  }

  /** Everything until now: as if the second had passed. */
  function read(): ReadRates {
    return new ReadRates(counted(), performance.now() + 1000);
  }

  it('show the share that each cluster got of 10,000 calls', async () => {
    const [stable, canary] = [await mesh.backend('stable'), await mesh.backend('canary')];
    mesh.serve(splitResources(stable.port, canary.port));
    const client = mesh.client();
    await callMany(client, SPLIT_CALLS);
    const rows = await readRows(page, 'routes');
    const [shown] = rows.map(({ shares }) => shares);
    const got = canary.calls / SPLIT_CALLS;
    const percent = Number((100 * got).toFixed(1));
    expect(shown).toEqual([
      expect.stringMatching(/^stable: asked 75 %, got /) as unknown,
      `canary: asked 25 %, got ${percent} % (${canary.calls} of ${SPLIT_CALLS} calls)`,
    ]);
    expect(stable.calls + canary.calls).toBe(SPLIT_CALLS);
    expect(Math.abs(got - 0.25)).toBeLessThan(0.05);
  }, 120_000);

  it('count a call that is retried once, and each of its attempts', async () => {
    const backend = await mesh.backend('a');
    const retry_policy = { retry_on: 'unavailable', num_retries: 2 };
    mesh.serve(simpleResources([backend.port], { retry_policy }));
    const client = mesh.client();
    await client.say();
    backend.refusals = 2;
    await client.say();
    const of = (rates: ReturnType<ReadRates['ofTarget']> | undefined) => [
      rates?.counts,
      rates?.errors,
      rates?.inFlight,
    ];
    expect(of(read().ofTarget())).toEqual(['calls', [], 0]);
    expect(of(read().ofClusters(['echo']))).toEqual(['attempts', ['UNAVAILABLE 2'], 0]);
    expect(read().startedOn('echo', [`127.0.0.1:${backend.port}`])).toBe(4);
  });

  it('count calls that no route matches, and that fail without a connection, by their status', async () => {
    mesh.serve({
      ...simpleResources([1]),
      routes: [
        routeConfigJson(`${SERVICE}-routes`, [
          {
            match: { prefix: '/', headers: [{ name: 'x-lost', present_match: true }] },
            route: { cluster: 'echo' },
          },
        ]),
      ],
    });
    const client = mesh.client();
    await client.failure();
    expect(read().ofTarget()).toMatchObject({ errors: ['UNAVAILABLE 1'], inFlight: 0 });
    expect(read().ofClusters(['echo'])).toBeUndefined();
  });

  it('go on while an endpoint is ejected', async () => {
    const [good, bad] = [await mesh.backend('good'), await mesh.backend('bad')];
    mesh.serve({
      ...simpleResources([good.port, bad.port]),
      clusters: [edsClusterJson('echo', { outlier_detection: EJECT_FAILING })],
    });
    const client = mesh.client();
    bad.refusals = Infinity;
    const stream = await readPage(page, `view=topology&target=${encodeURIComponent(TARGET)}`);
    const address = `127.0.0.1:${bad.port}`;
    const row = await eventually(
      async () => {
        await Promise.allSettled(Array.from({ length: 10 }, () => client.say()));
        return lastRow(stream, 'topology', address);
      },
      (found) => found?.['ejected'] === true && typeof found['rate'] === 'number',
    );
    stream.request.destroy();
    expect(row).toMatchObject({ counts: 'attempts', ejected: true });
    expect(read().ofEndpoints('echo', [`127.0.0.1:${good.port}`])).toMatchObject({ errors: [] });
  });

  it('go on when an endpoint is removed and added', async () => {
    const [a, b] = [await mesh.backend('a'), await mesh.backend('b')];
    const client = mesh.client();
    const sayUntil = (name: string) =>
      eventually(
        () => client.say(),
        (answer) => answer === name,
      );
    mesh.serve(simpleResources([a.port]));
    await sayUntil('a');
    mesh.serve(simpleResources([b.port]));
    await sayUntil('b');
    mesh.serve(simpleResources([a.port]));
    await sayUntil('a');
    expect(read().ofEndpoints('echo', [`127.0.0.1:${a.port}`])).toMatchObject({ inFlight: 0 });
    expect(read().ofClusters(['echo'])).toMatchObject({ inFlight: 0, errors: [] });
  });

  it('are of the time in which a page is served', async () => {
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    const client = mesh.client();
    const second = await serveAdminPage({ port: 0 });
    await client.say();
    await page.close();
    expect(read().ofTarget()).toMatchObject({ inFlight: 0 });
    await second.close();
    expect(processRates.counting).toBeUndefined();
    await client.say();
    page = await serveAdminPage({ port: 0 });
    expect(processRates.counting?.get(TARGET)).toBeUndefined();
    await client.say();
    expect(read().startedOn('echo', [`127.0.0.1:${backend.port}`])).toBe(1);
  });
});

const EJECT_FAILING: Json = {
  interval: '0.2s',
  base_ejection_time: '300s',
  max_ejection_percent: 50,
  failure_percentage_threshold: 50,
  enforcing_failure_percentage: 100,
  failure_percentage_minimum_hosts: 2,
  failure_percentage_request_volume: 3,
  enforcing_success_rate: 0,
};

function splitResources(stable: number, canary: number): MeshResources {
  return {
    listeners: [listenerJson(SERVICE)],
    routes: [routeConfigJson(`${SERVICE}-routes`, [routeToSplit({ stable: 75, canary: 25 })])],
    clusters: [edsClusterJson('stable'), edsClusterJson('canary')],
    endpoints: [
      endpointsJson('stable', [{ zone: 'a', ports: [stable] }]),
      endpointsJson('canary', [{ zone: 'a', ports: [canary] }]),
    ],
  };
}

async function callMany(client: EchoClient, count: number): Promise<void> {
  let left = count;
  const caller = async () => {
    while (left-- > 0) await client.say({ deadlineMs: 100_000 });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
}

type ShownRow = PageStream['messages'][number]['data']['views'][string]['rows'][number];

/** Reads the rows of a view as they are now. */
async function readRows(page: AdminPage, view: string): Promise<readonly ShownRow[]> {
  const stream = await readPage(page, `view=${view}&target=${encodeURIComponent(TARGET)}`);
  const [message] = await eventually(
    () => stream.messages,
    ({ length }) => length > 0,
  );
  stream.request.destroy();
  return message?.data.views[view]?.rows ?? [];
}

/** The latest row of a name. */
function lastRow(stream: PageStream, view: string, name: string): ShownRow | undefined {
  return stream.messages
    .flatMap(({ data }) => data.views[view]?.rows ?? [])
    .findLast((row) => row['name'] === name);
}
