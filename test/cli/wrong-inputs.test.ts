import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterKind, endpointKind, listenerKind, routeKind } from '../../src/control-plane';
import { FakeIo } from './fake-io';

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-inputs-'));
const empty = join(folder, 'empty');
const full = join(folder, 'full');
const resources = join(full, 'b.yaml');
const badBootstrap = join(folder, 'bootstrap.json');

const ads = { ads: {} };
const MANAGER =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';
const listener = (name: string) => ({
  name,
  api_listener: {
    api_listener: {
      '@type': MANAGER,
      rds: { route_config_name: `${name}-routes`, config_source: ads },
      http_filters: [{ name: 'router', typed_config: { '@type': ROUTER } }],
    },
  },
});
const route = (cluster: string) => ({ match: { prefix: '' }, route: { cluster } });
const host = (name: string, cluster: string) => ({
  name,
  domains: [name],
  routes: [route(cluster)],
});
const eds = (name: string) => ({ name, type: 'EDS', eds_cluster_config: { eds_config: ads } });
const aggregate = (name: string, ...clusters: readonly string[]) => ({
  name,
  cluster_type: {
    name: 'aggregate',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig',
      clusters,
    },
  },
  lb_policy: 'CLUSTER_PROVIDED',
});
const assignment = (cluster_name: string) => ({ cluster_name, endpoints: [] });

beforeAll(() => {
  mkdirSync(empty);
  mkdirSync(full);
  writeFileSync(join(empty, 'notes.txt'), '');
  writeFileSync(badBootstrap, '{bad');
  writeFileSync(
    resources,
    JSON.stringify({
      listeners: [listener('shop'), listener('other')],
      routes: [
        {
          name: 'shop-routes',
          virtual_hosts: [host('shop', 'shop-all'), host('elsewhere', 'not-needed')],
        },
        { name: 'other-routes', virtual_hosts: [host('other', 'shop-b')] },
      ],
      clusters: [aggregate('shop-all', 'shop-a'), eds('shop-a'), eds('shop-b'), eds('not-needed')],
      endpoints: ['shop-a', 'shop-b', 'not-needed'].map(assignment),
    }),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: readonly string[]) {
  const io = new FakeIo();
  io.input = 'listeners: []';
  const code = await io.run(...args);
  return { code, errors: io.errors.join('\n'), out: io.out.join('\n') };
}

describe('dump of a file with a target', () => {
  it('prints what the target needs, and nothing else', async () => {
    const { code, out } = await run('dump', resources, '-t', 'xds:///shop', '--json');
    expect(code).toBe(0);
    const dumped = JSON.parse(out);
    const namesOf = (list: string) =>
      dumped[list].map(({ name, cluster_name }: Record<string, string>) => name ?? cluster_name);
    expect(namesOf('listeners')).toEqual(['shop']);
    expect(namesOf('routes')).toEqual(['shop-routes']);
    expect(namesOf('clusters').sort()).toEqual(['shop-a', 'shop-all']);
    expect(namesOf('endpoints')).toEqual(['shop-a']);
    const labels = [listenerKind, routeKind, clusterKind, endpointKind].map(({ label }) => label);
    for (const { type } of dumped['x-dump'].resources) expect(labels).toContain(type);
  });

  it('prints all without one', async () => {
    const { out } = await run('dump', resources, '--json');
    expect(JSON.parse(out)['x-dump'].resources).toHaveLength(11);
  });
});

describe('an input that a command cannot use', () => {
  it.each<[string, readonly string[], string | RegExp]>([
    [
      'a process id',
      ['dump', 'pid:x', '--diff', resources],
      /^pid:x: expected the id of a process, such as/,
    ],
    [
      'a picture without a target',
      ['dump', resources, '--diff', resources, '-o', 'svg'],
      '--output svg needs --target',
    ],
    ['no source', ['graph', 'xds:///shop'], 'give one source: --file, --admin,'],
    ['two sources', ['graph', 'xds:///shop', '-f', resources, '--pid', '1'], 'give one source'],
    ['no target', ['graph', 'shop', '-f', resources], 'shop'],
    ['no process id', ['dump', resources, '--diff', 'pid:'], /^pid:: expected the id of a process/],
    [
      'process 0',
      ['dump', resources, '--diff', 'pid:0'],
      /^pid:0: expected the id .* use \.\/pid:0$/,
    ],
    [
      'no address',
      ['dump', 'admin:', '--diff', resources],
      /^admin:: expected the address of the admin/,
    ],
    ['no URI', ['dump', 'ads:', '--diff', resources], /^ads:: expected the URI of a control plane/],
    ['an empty source', ['dump', ''], 'source "": expected a source, such as after.yaml'],
    ['nothing to diff', ['dump', resources, '--diff', ''], '--diff "": expected a source, such as'],
    [
      '--diff alone',
      ['dump', '--diff', ''],
      '--diff "": give one source to compare with it: a file',
    ],
    ['a socket alone', ['dump', '--diff', 'unix:/nope'], '--diff unix:/nope: give one source to'],
    [
      'a page alone, without its token',
      ['dump', '--diff', 'page:http://127.0.0.1:1/#token=secret'],
      /^--diff page:http:\/\/127\.0\.0\.1:1\/: give one source to/,
    ],
    ['- twice', ['check', '-', resources, '-'], '- is given twice: the standard input can'],
    ['- twice to diff', ['dump', '-', '--diff', '-'], '- is given twice: the standard input can'],
    [
      'an empty folder',
      ['check', empty],
      `${empty}: cannot be read: a directory, not a regular file, and none of its files is called *`,
    ],
    ['an empty folder to dump', ['dump', empty], 'is called *.yaml, *.yml or *.json'],
    ['a folder', ['dump', full], `name its resource file, such as ${resources}`],
    ['a bootstrap', ['dump', '--bootstrap', badBootstrap], `xDS bootstrap ${badBootstrap} is not`],
    ['no bootstrap', ['dump', '--bootstrap', empty], `xDS bootstrap ${empty} cannot be read`],
    [
      'a bootstrap of record',
      ['record', join(folder, 'out'), '-u', badBootstrap],
      `xDS bootstrap ${badBootstrap} is not JSON`,
    ],
  ])('is named: %s', async (_, args, text) => {
    const { code, errors } = await run(...args);
    if (typeof text === 'string') expect(errors).toContain(text);
    else expect(errors).toMatch(text);
    expect(errors).not.toContain('GRPC_XDS_BOOTSTRAP');
    expect(code).toBe(2);
  });
});

describe('a bootstrap that is missing', () => {
  const MISSING =
    'xDS bootstrap is missing: set GRPC_XDS_BOOTSTRAP to a file or GRPC_XDS_BOOTSTRAP_CONFIG to JSON';

  it.each([
    [['watch', 'xds:///a'], `${MISSING}, or pass --bootstrap or --control-plane`],
    [
      ['record', join(folder, 'out')],
      `bootstrap of the environment: ${MISSING}, or pass --upstream`,
    ],
    [['relay', '--listen', `unix:${join(folder, 'relay.sock')}`], `error: ${MISSING}`],
  ])('says what %j takes instead', async (args, text) => {
    const { code, errors } = await run(...args);
    expect(errors).toBe(text);
    expect(code).toBe(2);
  });

  it('says that doctor takes a file', async () => {
    const io = new FakeIo();
    await io.run('doctor');
    expect(io.out.join('\n').replace(/\s+/g, ' ')).toContain(
      `${MISSING}, or give the file as an argument`,
    );
  });
});
