// The import ranks: a folder of src/ imports only folders of lower rank, type-only imports included.
// What may be imported from where is written down here once; docs and review refer to it.
const { join } = require('node:path');

const ranks = [
  ['util', 'protobuf', 'generated'],
  ['grpc-js', 'bootstrap', 'regex', 'hash', 'proto-json', 'stats', 'live-page'],
  ['xds-client'],
  ['resources', 'load-reporting', 'saved-snapshot'],
  ['security'],
  ['http-filters', 'credentials', 'dependency-manager'],
  ['lb', 'transport'],
  ['resolver', 'testing'],
  ['admin', 'opentelemetry'],
  ['runtime'],
];
const island = ['control-plane', 'cli', 'orca'];
/** Commands that examine resources and servers as a client does: the one way from the island to the client. */
const crossing = '^src/cli/client/';

const client = ranks.flat();
const any = (names) => `(${names.join('|')})`;
const inFolders = (names) => `^src/${any(names)}/`;
/** A package, however it is installed; `subpath` limits it to one file of its exports. */
const inPackage = (name) => `(^|/)node_modules/${name}/`;

/** The imports within a rank: the tables of generated code are read by the codec, and the codec has the budgets of util. */
const siblings = { generated: ['protobuf'], protobuf: ['util'] };

/** One rule per folder: neither its own rank's other folders nor any higher one. */
const rankRules = ranks.flatMap((folders, rank) =>
  folders.map((folder) => ({
    name: `rank-${rank}-${folder}`,
    comment: `src/${folder} has rank ${rank} and imports only folders of lower rank`,
    severity: 'error',
    from: { path: inFolders([folder]) },
    to: {
      path: `^src/(${ranks.slice(rank).flat().join('|')}|(register|extend|index)\\.ts$)`,
      pathNot: inFolders([folder, ...(siblings[folder] ?? [])]),
    },
  })),
);

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...rankRules,
    forbid(
      'known-folder',
      'every folder of src/ has a rank: add it to .dependency-cruiser.cjs',
      {
        path: '^src/',
        pathNot: `^src/(${any([...client, ...island])}/|(register|extend|index)\\.ts$)`,
      },
      {},
    ),
    forbid('no-cycle', 'no cycles, type-only imports included', {}, { circular: true }),

    // Narrower than a rank.
    forbid(
      'no-grpc-js-below-transport',
      'xds-client, resources and load-reporting know nothing of grpc-js: a fake transport is a page',
      { path: inFolders(['xds-client', 'resources', 'load-reporting']) },
      { path: inFolders(['grpc-js']) },
    ),
    forbid(
      'xds-client-is-generic',
      'of generated code, xds-client sees discovery, status, Node and the well-known types',
      { path: inFolders(['xds-client']) },
      {
        path: inFolders(['generated']),
        pathNot:
          '^src/generated/(envoy/service/discovery/|envoy/config/core/v3/base\\.ts|envoy/type/v3/semantic_version\\.ts|google/rpc/|google/protobuf/)',
      },
    ),
    forbid(
      'only-parsers-see-protos',
      'in resources, only *-parser.ts and shared/any.ts import generated code',
      {
        path: inFolders(['resources']),
        pathNot: '(-parser\\.ts$|^src/resources/shared/any\\.ts$)',
      },
      { path: inFolders(['generated']) },
    ),
    forbid(
      'lb-sees-the-config',
      'the policies see xds-config.ts, not the dependency manager',
      { path: inFolders(['lb']) },
      {
        path: inFolders(['dependency-manager']),
        pathNot: '^src/dependency-manager/xds-config\\.ts$',
      },
    ),
    forbid(
      'observers-only-look',
      'admin and opentelemetry read the client through client-snapshot',
      { path: inFolders(['admin', 'opentelemetry']) },
      {
        path: inFolders(['xds-client']),
        pathNot: '^src/xds-client/client-snapshot\\.ts$',
      },
    ),

    // The island.
    forbid(
      'island',
      'control-plane, cli and orca never import the client: a test oracle must not share its mistakes, nor a server load it',
      { path: inFolders(island), pathNot: crossing },
      {
        path: '^src/',
        pathNot: inFolders(['util', 'protobuf', 'generated', 'proto-json', 'live-page', ...island]),
      },
    ),
    forbid(
      'crossing-loaded-late',
      'the client is loaded by the commands that need it, and by no other: through load-client.ts',
      { path: '^src/', pathNot: [crossing, '^src/cli/load-client\\.ts$'] },
      { path: crossing, dependencyTypesNot: ['type-only'] },
    ),
    forbid(
      'crossing-sees-the-client-only',
      'what the verdict is made of shares nothing with the management server',
      { path: crossing },
      { path: inFolders(island), pathNot: crossing },
    ),
    forbid(
      'no-bridge-to-the-island',
      'the client never imports the control plane or the command line',
      { path: '^src/', pathNot: inFolders(island) },
      { path: inFolders(island) },
    ),
    forbid(
      'control-plane-front-door',
      'the command line uses what any user of the control plane can use',
      { path: inFolders(['cli']) },
      { path: inFolders(['control-plane']), pathNot: '^src/control-plane/index\\.ts$' },
    ),
    forbid(
      'live-page-in-cli',
      'of the island, only the command line serves the live page',
      { path: inFolders(['control-plane', 'orca']) },
      { path: inFolders(['live-page']) },
    ),
    forbid(
      'control-plane-stands-alone',
      'the control plane does not know its command line',
      { path: inFolders(['control-plane']) },
      { path: inFolders(['cli']) },
    ),

    // Packages.
    forbid(
      'grpc-js-wall',
      '@grpc/grpc-js is imported in src/grpc-js and on the island only',
      { path: '^src/', pathNot: inFolders(['grpc-js', ...island]) },
      { path: inPackage('@grpc/grpc-js') },
    ),
    forbid(
      'protobuf-runtime',
      '@bufbuild/protobuf is for the codec of generated code, its JSON form, the island and the scanning of undecoded bytes',
      {
        path: '^src/',
        pathNot: [
          inFolders(['protobuf', 'proto-json', ...island]),
          '^src/resources/(shared|wire)/',
        ],
      },
      { path: inPackage('@bufbuild/protobuf') },
    ),
    forbid(
      'yaml-in-documents',
      'YAML is slow to load: src/proto-json reads it for the island, and for a client whose resources are in a file',
      { path: '^src/', pathNot: '^src/proto-json/yaml-(document|pieces|values)\\.ts$' },
      { path: inPackage('yaml') },
    ),
    forbid(
      'commander-in-cli',
      'only the command line parses arguments',
      { path: '^src/', pathNot: inFolders(['cli']) },
      { path: inPackage('commander') },
    ),
    forbid(
      're2-behind-regex',
      'the regular expression engine is slow to load: src/regex loads it when a pattern asks for it',
      { path: '^src/', pathNot: inFolders(['regex']) },
      { path: inPackage('re2js') },
    ),
    forbid(
      'xxhash-behind-hash',
      'the hash function has to be got ready first: src/hash sees to that',
      { path: '^src/', pathNot: inFolders(['hash']) },
      { path: inPackage('xxhash-wasm') },
    ),
    forbid(
      'declared-packages',
      'src/ imports only packages that a user gets: dependencies and peer dependencies',
      { path: '^src/' },
      {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm', 'npm-peer', 'npm-optional'],
      },
    ),
    forbid('resolvable', 'an import that leads nowhere', {}, { couldNotResolve: true }),
    forbid(
      'src-alone',
      'src/ imports nothing of ours outside src/',
      { path: '^src/' },
      { path: '^(test|scripts|bench|examples|interop|dist)/' },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: join(__dirname, 'tsconfig.json') },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'node', 'require', 'default'],
    },
  },
};
