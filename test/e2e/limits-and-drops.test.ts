import { status } from '@grpc/grpc-js';
import { eventually } from '../support/eventually';
import { SERVICE, type MeshResources, useMesh } from '../support/mesh';
import {
  ObedientBackend,
  ObedientClient,
  type Outcome,
  type RunningCall,
} from '../support/obedient-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

jest.setTimeout(120_000);

const TO_TWO = { cluster: 'two' };

describe('a cluster', () => {
  const mesh = useMesh({ controlPlane: { loadReporting: { intervalMs: 100 } } });
  let client: ObedientClient;
  let one: ObedientBackend;
  let two: ObedientBackend;
  beforeEach(async () => {
    one = await ObedientBackend.start();
    two = await ObedientBackend.start();
    client = new ObedientClient(`xds:///${SERVICE}`);
  });
  afterEach(() => {
    client.close();
    one.stop();
    two.stop();
  });

  function resources(
    limits: readonly [number, number],
    drops: readonly Json[] = [],
  ): MeshResources {
    const toTwo = {
      match: { prefix: '', headers: [{ name: 'cluster', string_match: { exact: 'two' } }] },
      route: { cluster: 'two' },
    };
    // What is dropped is UNAVAILABLE, and not tried again for all that.
    const retries = { retry_policy: { retry_on: 'unavailable', num_retries: 3 } };
    const cluster = (name: string, maxRequests: number) =>
      edsClusterJson(name, {
        lrs_server: { self: {} },
        circuit_breakers: { thresholds: [{ max_requests: maxRequests }] },
      });
    return {
      listeners: [listenerJson(SERVICE)],
      routes: [routeConfigJson(`${SERVICE}-routes`, [toTwo, routeToCluster('one', retries)])],
      clusters: [cluster('one', limits[0]), cluster('two', limits[1])],
      endpoints: [
        {
          ...endpointsJson('one', [{ zone: 'a', ports: [one.port] }]),
          policy: { drop_overloads: drops },
        },
        endpointsJson('two', [{ zone: 'a', ports: [two.port] }]),
      ],
    };
  }

  /** Makes calls that are kept open; waits until as many as expected have come, and the others have failed. */
  async function keepOpen(
    backend: ObedientBackend,
    options: {
      readonly calls: number;
      readonly held: number;
      readonly headers?: Record<string, string>;
    },
  ): Promise<readonly RunningCall[]> {
    const { calls, held, headers } = options;
    const before = backend.held.length;
    const failed: string[] = [];
    const running = Array.from({ length: calls }, () => client.call('hold', headers));
    for (const call of running) {
      void call.outcome.then(({ code, details }) => {
        if (code !== status.OK) failed.push(`${status[code]} ${details}`);
      });
    }
    await eventually(
      () => [backend.held.length - before, failed.length],
      ([open, dropped]) => open === held && dropped === calls - held,
      60_000,
    );
    expect(
      new Set(failed.map((text) => text.replace(/\d+/, 'N').replace(mesh.address, 'SERVER'))),
    ).toEqual(
      new Set(
        [
          'UNAVAILABLE Cluster "c" has reached its limit of N concurrent requests: see max_requests of its circuit breakers; configured by management server SERVER (node "test-node")',
        ].map((text) => text.replace('"c"', headers === undefined ? '"one"' : '"two"')),
      ),
    );
    return running;
  }

  // The interop case circuit_breaking.
  it('takes as many open calls as its limit, and more once the limit is raised', async () => {
    mesh.serve(resources([50, 100]));
    await client.calls(1, 'ok');
    await keepOpen(one, { calls: 60, held: 50 });
    await keepOpen(two, { calls: 110, held: 100, headers: TO_TWO });
    mesh.serve(resources([80, 100]));
    await eventually(async () => {
      const [outcome] = await client.calls(1, 'ok');
      return outcome?.code;
    }, status.OK);
    await keepOpen(one, { calls: 40, held: 30 });

    // Lowered, it leaves the calls alone that run, and lets none in until there is room.
    mesh.serve(resources([20, 100]));
    await eventually(
      async () => (await client.calls(1, 'ok'))[0]?.details,
      (details) => details?.includes('limit of 20 ') === true,
    );
    expect(one.held).toHaveLength(80);
    expect((await client.calls(1, 'ok', TO_TWO))[0]?.details).toContain('limit of 100 ');
    one.letGo();
    await eventually(async () => (await client.calls(1, 'ok'))[0]?.code, status.OK);
    two.letGo();
  });

  it('drops the shares of its categories, each of what is left by those before', async () => {
    const share = (category: string, numerator: number, denominator: string) => ({
      category,
      drop_percentage: { numerator, denominator },
    });
    mesh.serve(
      resources(
        [1024, 1024],
        [
          share('first', 10, 'HUNDRED'),
          share('none', 0, 'HUNDRED'),
          share('second', 500_000, 'MILLION'),
        ],
      ),
    );
    const calls = 1000;
    const outcomes: Outcome[] = [];
    while (outcomes.length < calls) outcomes.push(...(await client.calls(200, 'ok')));
    const count = (text: string) => outcomes.filter(({ details }) => details.includes(text)).length;
    const [first, second] = [count('"first"'), count('"second"')];
    const ok = outcomes.filter(({ code }) => code === status.OK).length;
    expect(ok + first + second).toBe(calls);
    expect(count('"none"')).toBe(0);
    // Six standard deviations: one run in a billion is outside.
    expect(Math.abs(first - 0.1 * calls)).toBeLessThan(6 * Math.sqrt(calls * 0.1 * 0.9));
    const left = calls - first;
    expect(Math.abs(second - 0.5 * left)).toBeLessThan(6 * Math.sqrt(left * 0.25));

    // What the control plane hears of it is the same to the call: none was tried again.
    await eventually(
      () => mesh.controlPlane.loads()[0],
      (load) =>
        load?.localities[0]?.succeeded === ok &&
        load.localities[0].issued === ok &&
        load.totalDropped === first + second &&
        load.droppedByCategory.get('first') === first &&
        load.droppedByCategory.get('second') === second,
      30_000,
    );
  });
});
