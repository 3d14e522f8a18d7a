import { serveAdminPage, type AdminPage } from '../../../packages/page/src';
import { processRates } from '../../../src/observe/rates/process-rates';
import { ReadRates } from '../../../src/observe/rates/read-rates';
import type { TargetRates } from '../../../src/observe/rates/target-rates';
import { Mesh, SERVICE, simpleResources } from '../../support/mesh';
import { routeConfigJson } from '../../support/xds-json';

const TARGET = `xds:///${SERVICE}`;

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
    return new ReadRates(counted(), performance.now() + 1000, 0);
  }

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
