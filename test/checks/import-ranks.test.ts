import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const root = join(__dirname, '..', '..');

interface Violation {
  readonly rule: { readonly name: string };
  readonly from: string;
  readonly to: string;
}

/** A small project with one forbidden import per rule, next to imports that are allowed. */
const files = new Map([
  [
    'package.json',
    '{ "dependencies": { "yaml": "1", "@grpc/grpc-js": "1" }, "devDependencies": { "jest": "1" } }',
  ],
  ['node_modules/yaml/index.js', ''],
  ['node_modules/jest/index.js', ''],
  ['node_modules/@grpc/grpc-js/index.js', ''],
  ...[
    ['util', 'Rank 0'],
    ['wire/generated', 'Rank 2'],
    ['wire/proto-json', 'Rank 3'],
    ['grpc-js', 'Rank 3'],
    ['bootstrap', 'Rank 3'],
    ['xds-client', 'Rank 4'],
    ['xds-client/lrs', 'Rank 5'],
    ['resources', 'Rank 5'],
    ['dependency-manager', 'Rank 7'],
    ['lb', 'Rank 8'],
    ['transport', 'Rank 8'],
    ['resolver', 'Rank 9'],
    ['server', 'Rank 9'],
    ['observe/admin', 'Rank 10'],
    ['relay', 'Rank 12'],
    ['control-plane', 'Island'],
    ['cli', 'Island'],
  ].map(([room = '', rank = '']): [string, string] => [
    `src/${room}/README.md`,
    `${rank}. A room.`,
  ]),
  ['src/util/result.ts', 'export type Result = string;'],
  [
    'src/util/upwards.ts',
    "import type { Resolver } from '../resolver/resolver';\nexport type A = Resolver;",
  ],
  ['src/util/test-only.ts', "import 'jest';"],
  ['src/util/lost.ts', "import './nowhere';"],
  ['src/util/ping.ts', "import type { Pong } from './pong';\nexport type Ping = Pong;"],
  ['src/util/pong.ts', "import type { Ping } from './ping';\nexport type Pong = Ping;"],
  ['src/wire/generated/envoy/config/cluster/v3/cluster.ts', 'export const Cluster = 1;'],
  ['src/wire/generated/google/rpc/status.ts', 'export const Status = 1;'],
  ['src/grpc-js/index.ts', "export * from '@grpc/grpc-js';"],
  ['src/bootstrap/bootstrap.ts', "import '../grpc-js';\nexport type Bootstrap = string;"],
  [
    'src/xds-client/xds-client.ts',
    "import '../wire/generated/google/rpc/status';\nimport '../util/result';",
  ],
  ['src/xds-client/typed.ts', "import '../wire/generated/envoy/config/cluster/v3/cluster';"],
  ['src/xds-client/client-snapshot.ts', 'export const snapshot = 1;'],
  ['src/resources/cluster.ts', "import '../wire/generated/envoy/config/cluster/v3/cluster';"],
  [
    'src/resources/cluster-parser.ts',
    "import '../wire/generated/envoy/config/cluster/v3/cluster';",
  ],
  ['src/resources/channel.ts', "import '../grpc-js';"],
  ['src/dependency-manager/xds-config.ts', 'export const config = 1;'],
  ['src/dependency-manager/dependency-manager.ts', 'export const manager = 1;'],
  ['src/lb/cds.ts', "import '../dependency-manager/xds-config';"],
  ['src/lb/greedy.ts', "import '../dependency-manager/dependency-manager';"],
  ['src/lb/direct.ts', "import '@grpc/grpc-js';"],
  ['src/transport/yaml.ts', "import 'yaml';"],
  ['src/wire/proto-json/yaml-document.ts', "import 'yaml';"],
  ['src/resolver/resolver.ts', 'export type Resolver = string;'],
  ['src/resolver/control.ts', "import '../control-plane/index';"],
  ['src/observe/admin/csds.ts', "import '../../xds-client/client-snapshot';"],
  ['src/observe/admin/nosy.ts', "import '../../xds-client/xds-client';"],
  [
    'src/control-plane/index.ts',
    "import '@grpc/grpc-js';\nimport '../wire/proto-json/yaml-document';\nimport '../util/result';",
  ],
  ['src/control-plane/snapshot/store.ts', 'export const store = 1;'],
  ['src/control-plane/ads/service.ts', "import '../snapshot/store';"],
  ['src/control-plane/snapshot.ts', "import '../resources/cluster-parser';"],
  ['src/cli/main.ts', "import '../control-plane/index';\nimport '../control-plane/snapshot';"],
  [
    'src/cli/client/given-resources.ts',
    "import '../../resources/cluster-parser';\nimport '../../control-plane/index';",
  ],
  ['src/cli/io.ts', "export const load = () => require('./client/given-resources');"],
  ['src/cli/commands/check.ts', "import type {} from '../client/given-resources';"],
  [
    'src/cli/commands/serve.ts',
    "import '../client/given-resources';\nimport '../../xds-client/typed';",
  ],
  // A room inside of another one is above it.
  ['src/xds-client/lrs/load.ts', "import '../xds-client';"],
  ['src/xds-client/downwards.ts', "import './lrs/load';"],
  // The relay joins the client with the control plane.
  ['src/relay/relay.ts', "import '../xds-client/xds-client';\nimport '../control-plane/index';"],
  ['src/server/server.ts', "import '../resolver/resolver';"],
  ['src/resolver/served.ts', "import '../relay/relay';"],
  ['src/stray/stray.ts', "import '../util/result';"],
  ['src/index.ts', "import './resolver/resolver';"],
]);

const expected = [
  'rank-0-util: src/util/upwards.ts -> src/resolver/resolver.ts',
  'declared-packages: src/util/test-only.ts -> node_modules/jest/index.js',
  'resolvable: src/util/lost.ts -> ./nowhere',
  'no-cycle: src/util/ping.ts -> src/util/pong.ts',
  'rank-3-bootstrap: src/bootstrap/bootstrap.ts -> src/grpc-js/index.ts',
  'xds-client-is-generic: src/xds-client/typed.ts -> src/wire/generated/envoy/config/cluster/v3/cluster.ts',
  'only-parsers-see-protos: src/resources/cluster.ts -> src/wire/generated/envoy/config/cluster/v3/cluster.ts',
  'no-grpc-js-below-transport: src/resources/channel.ts -> src/grpc-js/index.ts',
  'lb-sees-the-config: src/lb/greedy.ts -> src/dependency-manager/dependency-manager.ts',
  'grpc-js-wall: src/lb/direct.ts -> node_modules/@grpc/grpc-js/index.js',
  'yaml-in-documents: src/transport/yaml.ts -> node_modules/yaml/index.js',
  'no-bridge-to-the-island: src/resolver/control.ts -> src/control-plane/index.ts',
  'observers-only-look: src/observe/admin/nosy.ts -> src/xds-client/xds-client.ts',
  'island: src/control-plane/snapshot.ts -> src/resources/cluster-parser.ts',
  'control-plane-front-door: src/cli/main.ts -> src/control-plane/snapshot.ts',
  'ads-serves-a-view: src/control-plane/ads/service.ts -> src/control-plane/snapshot/store.ts',
  'crossing-sees-the-client-only: src/cli/client/given-resources.ts -> src/control-plane/index.ts',
  'crossing-loaded-late: src/cli/commands/serve.ts -> src/cli/client/given-resources.ts',
  'island: src/cli/commands/serve.ts -> src/xds-client/typed.ts',
  'rank-4-xds-client: src/xds-client/downwards.ts -> src/xds-client/lrs/load.ts',
  'server-shares-up-to-security: src/server/server.ts -> src/resolver/resolver.ts',
  'rank-9-resolver: src/resolver/served.ts -> src/relay/relay.ts',
  'client-and-server-apart: src/resolver/served.ts -> src/relay/relay.ts',
  'known-folder: src/stray/stray.ts -> src/util/result.ts',
];

describe('the import ranks', () => {
  let project: string;

  beforeAll(() => {
    project = mkdtempSync(join(tmpdir(), 'grpc-xds-ranks-'));
    for (const [path, text] of files) {
      mkdirSync(dirname(join(project, path)), { recursive: true });
      writeFileSync(join(project, path), text);
    }
  });

  afterAll(() => rmSync(project, { recursive: true, force: true }));

  it('reports each forbidden import once and no allowed one', async () => {
    const cruiser = join(
      root,
      'node_modules',
      'dependency-cruiser',
      'bin',
      'dependency-cruise.mjs',
    );
    const config = join(root, '.dependency-cruiser.cjs');
    const args = [cruiser, 'src', '--config', config, '--output-type', 'json'];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: project,
      maxBuffer: 1 << 24,
    });
    const violations: Violation[] = JSON.parse(stdout).summary.violations;
    const found = violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
    expect(found.sort()).toEqual([...expected].sort());
  }, 30_000);
});
