import { addAdminServicesToServer, Server } from '@grpc/grpc-js';
import { inspect } from '../../src';
import { serveAdminPage } from '../../packages/page/src';
import { labelOf } from '../../packages/cli/src/dump/dump';
import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import { edsClusterJson, endpointsJson } from '../support/xds-json';
import { DoctorWorld } from './doctor-world';
import { bind } from '../support/listen';

const target = `xds:///${SERVICE}`;

it.each([
  ['', 'no type'],
  ['type.googleapis.com/envoy.config.cluster.v3.Cluster', 'cluster'],
  ['type.googleapis.com/a.b.Other', 'Other'],
])('the type %j of a message is %s', (typeUrl, label) => {
  expect(labelOf(typeUrl)).toBe(label);
});

describe('grpc-xds dump', () => {
  let world: DoctorWorld;
  beforeEach(() => {
    world = new DoctorWorld();
  });
  afterEach(() => world.close());

  /** Runs a command. @returns its exit code and the lines it printed. */
  async function run(...args: readonly string[]) {
    const from = world.io.out.length;
    const code = await world.io.run(...args);
    return { code, out: world.io.out.slice(from) };
  }

  it('prints what a control plane has for a target', async () => {
    const address = await world.serve(simpleResources([50051]));
    const { code, out } = await run('dump', '--control-plane', address, '-t', target);
    expect(code).toBe(0);
    expect(out[0]).toMatch(/^type +name +status +version +updated +bytes$/);
    expect(out.slice(1).map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
      ['listener', SERVICE, 'ACKED'],
      ['route configuration', `${SERVICE}-routes`, 'ACKED'],
      ['cluster', 'echo', 'ACKED'],
      ['endpoint assignment', 'echo', 'ACKED'],
    ]);
  });

  it('prints why a resource is rejected, and ends with 1', async () => {
    const clusters = [edsClusterJson('echo', { lb_policy: 'MAGLEV' })];
    const address = await world.serve({ ...simpleResources([50051]), clusters });
    const { code, out } = await run('dump', '--control-plane', address, '-t', target);
    expect(code).toBe(1);
    expect(out.at(-1)).toMatch(
      /^cluster "echo": rejected version \w+ at 20\d\d-\d\d-\d\dT\S+Z: .*MAGLEV/,
    );
    const json = JSON.parse(
      (await run('dump', '--control-plane', address, '-t', target, '--json')).out.join('\n'),
    );
    const rejected = json['x-dump'].resources.filter((each: object) => 'rejected' in each);
    expect(rejected).toMatchObject([{ name: 'echo', version: '', status: 'NACKED' }]);
  });

  it('writes a file that check accepts and that has no differences', async () => {
    const address = await world.serve(simpleResources([50051]));
    const dumped = await run('dump', '--control-plane', address, '-t', target, '-o', 'yaml');
    const path = world.write('dump.yaml', dumped.out.join('\n'));
    expect((await run('check', path)).code).toBe(0);
    expect(await run('dump', path, '--diff', `ads:${address}`, '-t', target)).toEqual({
      code: 0,
      out: [],
    });
    expect((await run('dump', path)).out).toHaveLength(5);
  });

  it('prints everything that a control plane has without a target', async () => {
    const clusters = [edsClusterJson('echo'), edsClusterJson('odd', { lb_policy: 'MAGLEV' })];
    const address = await world.serve({ ...simpleResources([50051]), clusters });
    const { code, out } = await run('dump', '--control-plane', address, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out.join('\n'))).toMatchObject({
      'x-dump': { source: address, node: 'grpc-xds' },
      listeners: [{ name: SERVICE }],
      routes: [{ name: `${SERVICE}-routes` }],
      clusters: [{ name: 'echo' }, { name: 'odd', lb_policy: 'MAGLEV' }],
      endpoints: [{ cluster_name: 'echo' }],
    });
  });

  it('ends with 3 if a control plane is silent', async () => {
    const address = await world.silentServer();
    expect((await run('dump', '--control-plane', address, '--timeout', '0.5')).code).toBe(3);
    expect(world.io.errors).toEqual([
      `control plane ${address}: no response within 0.5 s; is node id "grpc-xds" known to it?`,
    ]);
  });

  it('prints what a process has', async () => {
    const mesh = await Mesh.start();
    const admin = new Server();
    try {
      const backend = await mesh.backend('a');
      mesh.serve(simpleResources([backend.port]));
      await mesh.client().say();
      addAdminServicesToServer(admin);
      const port = await bind(admin);
      const { code, out } = await run('dump', '--admin', `127.0.0.1:${port}`, '--json');
      expect(code).toBe(0);
      expect(JSON.parse(out.join('\n'))).toMatchObject({
        'x-dump': {
          source: `127.0.0.1:${port}`,
          node: 'test-node',
          resources: expect.arrayContaining([
            expect.objectContaining({ type: 'cluster', name: 'echo', status: 'ACKED' }),
          ]),
        },
        listeners: [{ name: SERVICE }],
        endpoints: [{ cluster_name: 'echo' }],
      });
      const report = world.write('report.json', inspect({ contents: true }));
      expect((await run('dump', report)).out).toHaveLength(5);
      expect(await run('dump', `admin:127.0.0.1:${port}`, '--diff', report)).toEqual({
        code: 0,
        out: [],
      });
      const short = world.write('short.json', inspect());
      expect((await run('dump', short)).out.at(-1)).toMatch(/: the report has no contents$/);
      const file = world.write('other.json', simpleResources([backend.port]));
      expect(await run('dump', `admin:127.0.0.1:${port}`, '--diff', file)).toEqual({
        code: 0,
        out: [],
      });
    } finally {
      admin.forceShutdown();
      mesh.stop();
    }
  });

  it('prints what the live page of a process has, with the state of its endpoints', async () => {
    const mesh = await Mesh.start();
    const page = await serveAdminPage({ port: 0 });
    try {
      const backend = await mesh.backend('a');
      mesh.serve(simpleResources([backend.port]));
      await mesh.client().say();
      const { code, out } = await run('dump', '--page', page.url, '-t', target, '--json');
      expect(code).toBe(0);
      const dumped = JSON.parse(out.join('\n'));
      expect(dumped).toMatchObject({
        'x-dump': { source: `http://127.0.0.1:${page.port}`, node: 'test-node' },
        'x-report': { schema: 1, targets: [{ target, state: 'ready', channels: [{}] }] },
        clusters: [{ name: 'echo' }],
      });
      expect(dumped['x-report'].targets[0].policies.state).toBe('READY');
      const file = world.write('page.json', dumped);
      expect((await run('check', file)).code).toBe(0);
      // The address in the browser also has what the page shows.
      const shown = `page:${page.url}&target=xds%3A%2F%2F%2Fecho&view=graph`;
      expect(await run('dump', shown, '--diff', file)).toEqual({ code: 0, out: [] });
    } finally {
      await page.close();
      mesh.stop();
    }
  });

  it('ends with 2 for a page that refuses, and with 3 for one that cannot be reached', async () => {
    const page = await serveAdminPage({ port: 0 });
    const origin = `http://127.0.0.1:${page.port}`;
    const wrong = await run('dump', '--page', `${origin}/#token=0123456789abcdef`);
    await page.close();
    expect(wrong.code).toBe(2);
    expect((await run('dump', '--page', origin)).code).toBe(2);
    expect((await run('dump', '--page', page.url)).code).toBe(3);
    expect(world.io.errors).toEqual([
      `${origin}: the token is missing or wrong; it is part of the URL of the page`,
      `${origin}: expected the URL of a live page with its token, such as http://127.0.0.1:9901/#token=…`,
      expect.stringContaining(`${origin}: connect ECONNREFUSED`),
    ]);
  });

  it('ends with 2 for a target that the source does not have, and names those it has', async () => {
    const file = world.write('mesh.json', simpleResources([1]));
    const mesh = await Mesh.start();
    const page = await serveAdminPage({ port: 0 });
    const admin = new Server();
    try {
      const backend = await mesh.backend('a');
      mesh.serve(simpleResources([backend.port]));
      await mesh.client().say();
      addAdminServicesToServer(admin);
      const address = `127.0.0.1:${await bind(admin)}`;
      for (const source of [[file], ['--admin', address], ['--page', page.url]]) {
        expect((await run('dump', ...source, '-t', 'xds:///none')).code).toBe(2);
      }
      expect(world.io.errors).toEqual([
        `xds:///none: not a target of ${file}; it has ${target}`,
        expect.stringContaining(`xds:///none: not a target of ${address}; it has `),
        expect.stringContaining('xds:///none: not a target of http://127.0.0.1:'),
      ]);
    } finally {
      admin.forceShutdown();
      await page.close();
      mesh.stop();
    }
  });

  it('compares endpoints by address and localities by name', async () => {
    const before = world.write('before.json', {
      endpoints: [
        endpointsJson('echo', [
          { zone: 'a', ports: [1, 2, 3] },
          { zone: 'b', ports: [4] },
        ]),
      ],
    });
    const after = world.write('after.json', {
      endpoints: [
        endpointsJson('echo', [
          { zone: 'b', ports: [4] },
          { zone: 'a', ports: [3, 1, 5] },
        ]),
        endpointsJson('new', []),
      ],
    });
    const { code, out } = await run('dump', before, '--diff', after);
    expect(code).toBe(1);
    expect(out.map((line) => line.split('  ')[0])).toEqual([
      '- endpoint assignment "echo": endpoints[test/a p0].lb_endpoints[127.0.0.1:2]',
      '+ endpoint assignment "echo": endpoints[test/a p0].lb_endpoints[127.0.0.1:5]',
      '+ endpoint assignment "new"',
    ]);
    const json = await run('dump', before, '--diff', after, '--json');
    expect(JSON.parse(json.out.join('\n')).differences).toHaveLength(3);
  });

  it('prints both values of a field that changed', async () => {
    const before = world.write('a.json', { clusters: [edsClusterJson('echo')] });
    const after = world.write(
      'b.yaml',
      JSON.stringify({
        clusters: [edsClusterJson('echo', { lb_policy: 'RING_HASH' })],
      }),
    );
    const { out } = await run('dump', before, '--diff', after);
    // ROUND_ROBIN is the default, which JSON leaves out.
    expect(out).toEqual(['+ cluster "echo": lb_policy  "RING_HASH"']);
  });

  it('ends with 3 when a server cannot be reached', async () => {
    const address = await world.freeAddress();
    expect((await run('dump', '--admin', address, '--timeout', '5')).code).toBe(3);
    expect((await run('dump', '--control-plane', address, '-t', target)).code).toBe(3);
    expect(world.io.errors.join('\n')).toMatch(new RegExp(`${address}.*ECONNREFUSED`, 's'));
  });

  it('names the argument or flag of a socket that cannot be reached', async () => {
    const file = world.write('a.json', { clusters: [] });
    const socket = `unix:${world.folder}/none`;
    expect((await run('dump', file, '--diff', socket)).code).toBe(3);
    expect((await run('dump', socket)).code).toBe(3);
    expect((await run('dump', '--admin', socket)).code).toBe(3);
    const starts = world.io.errors.map((line) => line.split(': cannot be reached')[0]);
    expect(starts).toEqual([`--diff ${socket}`, socket, `--admin ${socket}`]);
  });

  it('ends with 2 without a source', async () => {
    expect((await run('dump')).code).toBe(2);
    expect(
      (await run('dump', `${world.folder}/none.yaml`, '--diff', `${world.folder}/none.yaml`)).code,
    ).toBe(2);
    expect(world.io.errors).toHaveLength(2);
  });
});
