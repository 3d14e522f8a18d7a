import { inspect } from '../../src';
import type { MeshGraph } from '../../packages/page/src/graph/mesh-graph';
import { aggregateJson, RECONNECT_SOON, routed } from '../support/failover';
import { eventually } from '../support/eventually';
import { edgesOf, nodesOf } from '../support/graphs';
import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import { edsClusterJson, endpointsJson } from '../support/xds-json';
import { DoctorWorld } from './doctor-world';

const target = `xds:///${SERVICE}`;

describe('grpc-xds graph', () => {
  let world: DoctorWorld;
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(() => world.close());

  async function run(...args: readonly string[]): Promise<readonly [number, string]> {
    world.io.out.length = 0;
    const code = await world.io.run(...args);
    return [code, world.io.out.join('\n')];
  }

  it('draws a resource file as a tree or a picture', async () => {
    const file = world.write('mesh.json', simpleResources([1]));
    const [code, tree] = await run('graph', target, '-f', file);
    expect(code).toBe(0);
    expect(tree.split('\n')).toEqual([
      `${target}  [ready; virtual host all of ${SERVICE}-routes; states are those of the configuration, without connections]`,
      '  0: every path  [ready]',
      '    echo  [100 %; ready]',
      '      test/a  [100 %; ready; priority 0; 1 ready]',
      '        127.0.0.1:1  [ready]',
    ]);
    for (const [format, start] of [
      ['svg', '<svg xmlns="http://www.w3.org/2000/svg" '],
      ['json', '{'],
      ['yaml', 'target: '],
    ] as const) {
      const [result, text] = await run('graph', target, '-f', file, '-o', format);
      expect([result, text.slice(0, start.length)]).toEqual([0, start]);
    }
    const [, json] = await run('graph', target, '-f', file, '--json');
    expect(JSON.parse(json)).toMatchObject({ target, nodes: expect.any(Array) as unknown });
  });

  it('draws what a control plane has', async () => {
    const address = await world.serve(simpleResources([1]));
    const [code, tree] = await run('graph', target, '--control-plane', address);
    expect(code).toBe(0);
    expect(tree).toContain('without connections');
  });

  it('ends with 1 and the reason if a cluster is rejected, or the target is not there', async () => {
    const resources = simpleResources([1]);
    const clusters = [edsClusterJson('echo', { lb_policy: 'MAGLEV' })];
    const file = world.write('mesh.json', { ...resources, clusters });
    const [code, tree] = await run('graph', target, '-f', file);
    expect(code).toBe(1);
    expect(tree).toMatch(/echo {2}\[100 %; failing; xds: Cluster "echo": rejected .*MAGLEV/);
    expect(await run('graph', 'xds:///other', '-f', file)).toEqual([1, '']);
    expect(world.io.errors).toEqual([`${file}: xds: Listener "other": not among the resources`]);
  });

  it('draws the states of a channel: a leaf and a priority that cannot be reached', async () => {
    const mesh = await Mesh.start();
    try {
      const [a, b] = [await mesh.backend('a'), await mesh.backend('b')];
      mesh.serve(
        routed(
          [
            aggregateJson('echo', ['first', 'second']),
            edsClusterJson('first'),
            edsClusterJson('second'),
          ],
          [
            endpointsJson('first', [{ zone: 'a', ports: [1] }]),
            endpointsJson('second', [
              { zone: 'a', ports: [2] },
              { zone: 'b', priority: 1, ports: [a.port, b.port] },
            ]),
          ],
        ),
      );
      const client = mesh.client(RECONNECT_SOON);
      await client.say();
      const report = inspect({ contents: true });
      const file = world.write('report.json', report);
      const [code, text] = await run('graph', target, '-f', file, '--json');
      expect(code).toBe(1);
      const graph = JSON.parse(text) as MeshGraph;
      expect(graph.nodes[0]?.text).not.toContain('without connections');
      expect(nodesOf(graph)).toEqual(
        expect.arrayContaining([
          'cluster echo: degraded (aggregate of 2)',
          expect.stringMatching(/^cluster first: failing \(.*127\.0\.0\.1:1/),
          'cluster second: degraded (1 of 3 endpoints fails)',
          'locality test/a: failing (priority 0; 1 failing)',
          expect.stringMatching(/^locality test\/b: ready \(priority 1; /),
        ]),
      );
      expect(edgesOf(graph)).toEqual(
        expect.arrayContaining([
          'echo ..> first (priority 0: cannot be reached)',
          'echo -> second (priority 1, in use)',
          'second ..> test/a 100 % (priority 0: not in use)',
          'second -> test/b 100 %',
        ]),
      );

      // A dump of the report, as another command writes it, has the same states.
      const [, dump] = await run('dump', file, '-o', 'yaml');
      const dumped = world.write('dump.yaml', dump);
      expect(JSON.parse((await run('graph', target, '-f', dumped, '--json'))[1])).toEqual(graph);
    } finally {
      mesh.stop();
    }
  });

  it.each([
    ['deep policies', '{"children":['.repeat(50_000) + ']}'.repeat(50_000)],
    [
      'wrong types',
      '{"policy":[],"state":1,"children":{"length":9},"details":"x","endpoints":[[],7]}',
    ],
    ['no policies', 'null'],
    [
      'a list of endpoints',
      `{"details":{"cluster":"echo"},"endpoints":[${'{"addresses":[1]},'.repeat(50_000)}{}]}`,
    ],
  ])('reads what it can of a report with %s', async (_case, policies) => {
    const { listeners, routes, clusters, endpoints } = simpleResources([1]);
    const kinds = [
      ['Listener', listeners],
      ['RouteConfiguration', routes],
      ['Cluster', clusters],
      ['ClusterLoadAssignment', endpoints],
    ] as const;
    const resources = kinds.flatMap(([type, list]) =>
      list.map((contents) => ({
        type,
        name: contents['name'] ?? contents['cluster_name'],
        status: 'ACKED',
        contents,
      })),
    );
    const report = JSON.stringify({ schema: 1, targets: [{ target, resources, policies: 'P' }] });
    const file = world.write('report.json', report.replace('"P"', policies));
    const [code, tree] = await run('graph', target, '-f', file);
    expect(world.io.errors).toEqual([]);
    expect(code).toBe(0);
    expect(tree.split('\n')).toHaveLength(5);
  });

  it('draws an ejected endpoint of a channel', async () => {
    const mesh = await Mesh.start();
    try {
      const [good, bad] = [await mesh.backend('good'), await mesh.backend('bad')];
      bad.refusals = Infinity;
      const outlier_detection = {
        interval: '0.1s',
        max_ejection_percent: 50,
        failure_percentage_threshold: 50,
        failure_percentage_minimum_hosts: 1,
        failure_percentage_request_volume: 1,
        enforcing_failure_percentage: 100,
      };
      mesh.serve(
        routed(
          [edsClusterJson('echo', { outlier_detection })],
          [endpointsJson('echo', [{ zone: 'a', ports: [good.port, bad.port] }])],
        ),
      );
      const client = mesh.client();
      const graph = await eventually(
        async () => {
          await client.say().catch(() => undefined);
          const file = world.write('report.json', inspect({ contents: true }));
          const [, text] = await run('graph', target, '-f', file, '--json');
          return JSON.parse(text) as MeshGraph;
        },
        ({ nodes }) => nodes.some(({ state }) => state === 'ejected'),
      );
      expect(nodesOf(graph).slice(2)).toEqual([
        'cluster echo: degraded (1 of 2 endpoints fails)',
        'locality test/a: degraded (priority 0; 1 ready, 1 ejected)',
        `endpoint 127.0.0.1:${good.port}: ready`,
        `endpoint 127.0.0.1:${bad.port}: ejected (ejected by outlier detection)`,
        expect.stringMatching(/^process pid \d+: ready \(node test-node, grpc-xds /),
        expect.stringMatching(/^management server 127\.0\.0\.1:\d+: ready \(connected\)$/),
      ]);
      expect(edgesOf(graph).slice(0, 3)).toEqual([
        'echo -> test/a 100 %',
        `test/a -> 127.0.0.1:${good.port}`,
        `test/a ..> 127.0.0.1:${bad.port}`,
      ]);
    } finally {
      mesh.stop();
    }
  });
});

describe('grpc-xds dump --diff with a picture', () => {
  let world: DoctorWorld;
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(() => world.close());

  it('draws both sources, with what was added, removed and changed', async () => {
    const before = world.write('before.json', simpleResources([1, 2]));
    const clusters = [edsClusterJson('echo', { lb_policy: 'RING_HASH' })];
    const after = world.write('after.json', { ...simpleResources([1, 3]), clusters });
    const diff = (...args: readonly string[]) =>
      world.io.run('dump', before, '--diff', after, ...args);
    expect(await diff('-t', target, '-o', 'svg')).toBe(1);
    const picture = world.io.out.join('\n');
    expect(picture).toContain('added lb_policy');
    for (const name of ['~ echo', '+ 127.0.0.1:3', '- 127.0.0.1:2', '127.0.0.1:1']) {
      expect(picture).toContain(`>${name}</text>`);
    }
  });

  it('ends with 0 for the same sources, and with 1 if one of them cannot be drawn', async () => {
    const file = world.write('mesh.json', simpleResources([1]));
    expect(await world.io.run('dump', file, '--diff', file, '-t', target, '-o', 'svg')).toBe(0);
    expect(world.io.out.join('\n')).not.toMatch(/added|removed|changed/);
    const other = world.write('other.json', { ...simpleResources([1]), routes: [] });
    expect(await world.io.run('dump', file, '--diff', other, '-t', target, '-o', 'svg')).toBe(1);
    expect(world.io.errors[0]).toMatch(/^.*other\.json: .*not among the resources/);
  });
});
