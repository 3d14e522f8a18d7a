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
  [
    'packages/cli/src/main.ts',
    "import '../../../src/control-plane/index';\nimport '../../../src/util/result';",
  ],
  ['packages/cli/src/deep.ts', "import '../../../src/control-plane/snapshot/store';"],
  ['packages/cli/src/identity.ts', "import '../../../src/util/package-copy';"],
  ['src/util/package-copy.ts', 'export const copy = 1;'],
  [
    'packages/cli/src/client/given-resources.ts',
    "import '../../../../src/internal';\nimport '../../../../src/control-plane/index';",
  ],
  ['packages/cli/src/io.ts', "export const load = () => require('./client/given-resources');"],
  ['packages/cli/src/commands/check.ts', "import type {} from '../client/given-resources';"],
  ['packages/cli/src/commands/serve.ts', "import '../client/given-resources';"],
  ['packages/cli/src/commands/relay.ts', "import '../../../relay/src/index';"],
  ['packages/cli/src/commands/page.ts', "import '../../../relay/src/relay';"],
  ['packages/relay/src/index.ts', 'export const relay = 1;'],
  ['packages/relay/src/relay.ts', "import '../../../src/internal';\nimport '../../../src/index';"],
  ['packages/page/src/index.ts', "import '../../relay/src/index';"],
  ['src/internal.ts', "import './xds-client/xds-client';"],
  // A layer inside of another folder is above it.
  ['src/xds-client/lrs/load.ts', "import '../xds-client';"],
  ['src/xds-client/downwards.ts', "import './lrs/load';"],
  ['src/server/server.ts', "import '../resolver/resolver';"],
  ['src/resolver/served.ts', "import '../server/server';"],
  ['src/resolver/relayed.ts', "import '../../packages/relay/src/index';"],
  ['src/stray/stray.ts', "import '../util/result';"],
  ['src/index.ts', "import './resolver/resolver';"],
]);

const expected = [
  'layer-util: src/util/upwards.ts -> src/resolver/resolver.ts',
  'declared-packages: src/util/test-only.ts -> node_modules/jest/index.js',
  'resolvable: src/util/lost.ts -> ./nowhere',
  'no-cycle: src/util/ping.ts -> src/util/pong.ts',
  'layer-bootstrap: src/bootstrap/bootstrap.ts -> src/grpc-js/index.ts',
  'xds-client-is-generic: src/xds-client/typed.ts -> src/wire/generated/envoy/config/cluster/v3/cluster.ts',
  'only-parsers-see-protos: src/resources/cluster.ts -> src/wire/generated/envoy/config/cluster/v3/cluster.ts',
  'no-grpc-js-below-transport: src/resources/channel.ts -> src/grpc-js/index.ts',
  'lb-sees-the-config: src/lb/greedy.ts -> src/dependency-manager/dependency-manager.ts',
  'grpc-js-wall: src/lb/direct.ts -> node_modules/@grpc/grpc-js/index.js',
  'yaml-in-documents: src/transport/yaml.ts -> node_modules/yaml/index.js',
  'nothing-of-apart: src/resolver/control.ts -> src/control-plane/index.ts',
  'observers-only-look: src/observe/admin/nosy.ts -> src/xds-client/xds-client.ts',
  'apart: src/control-plane/snapshot.ts -> src/resources/cluster-parser.ts',
  'ads-serves-a-view: src/control-plane/ads/service.ts -> src/control-plane/snapshot/store.ts',
  'companions-by-name: packages/cli/src/deep.ts -> src/control-plane/snapshot/store.ts',
  'one-identity: packages/cli/src/identity.ts -> src/util/package-copy.ts',
  'client-without-server: packages/cli/src/client/given-resources.ts -> src/control-plane/index.ts',
  'client-loaded-late: packages/cli/src/commands/serve.ts -> packages/cli/src/client/given-resources.ts',
  'entries-of-companions: packages/cli/src/commands/page.ts -> packages/relay/src/relay.ts',
  'companions-apart: packages/page/src/index.ts -> packages/relay/src/index.ts',
  'layer-xds-client: src/xds-client/downwards.ts -> src/xds-client/lrs/load.ts',
  'server-shares-up-to-security: src/server/server.ts -> src/resolver/resolver.ts',
  'layer-resolver: src/resolver/served.ts -> src/server/server.ts',
  'client-and-server-apart: src/resolver/served.ts -> src/server/server.ts',
  'library-alone: src/resolver/relayed.ts -> packages/relay/src/index.ts',
  'known-folder: src/stray/stray.ts -> src/util/result.ts',
];

describe('the layers', () => {
  let project: string;

  beforeAll(() => {
    project = mkdtempSync(join(tmpdir(), 'grpc-xds-layers-'));
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
    const args = [cruiser, 'src', 'packages', '--config', config, '--output-type', 'json'];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: project,
      maxBuffer: 1 << 24,
    });
    const violations: Violation[] = JSON.parse(stdout).summary.violations;
    const found = violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
    expect(found.sort()).toEqual([...expected].sort());
  }, 30_000);
});
