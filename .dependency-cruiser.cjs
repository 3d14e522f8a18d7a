// The layers of src/, and what the packages import of each other.
const { join } = require('node:path');

/**
 * From below: a folder imports only folders of the lines before its own, type-only imports included. A folder that is inside
 * of another one and has a name here is not part of it.
 */
const layers = [
  ['util'],
  ['wire/protobuf'],
  ['wire/generated'],
  ['wire/proto-json', 'observe/stats', 'observe/rates', 'grpc-js', 'bootstrap'],
  ['xds-client'],
  ['xds-client/lrs', 'xds-client/saved-snapshot', 'resources'],
  ['routing', 'security'],
  ['authorization'],
  ['security/credentials', 'http-filters', 'dependency-manager'],
  ['lb', 'transport'],
  ['resolver'],
  ['observe/admin', 'observe/opentelemetry'],
  ['runtime'],
  ['server'],
  ['testing'],
];
/** They share only `util` and `wire` with the rest: a test oracle must not have the mistakes of the client, nor a server load it. */
const apart = ['control-plane', 'orca'];
const folders = [...layers.flat(), ...apart];
/** The modules above the folders. The folders above `runtime` use `register`, which has the runtime of the process. */
const TOP = '^src/(register|extend|index|internal)\\.ts$';
const ENTRIES = '^src/(extend|index|internal)\\.ts$';

const inFolders = (names) => `^src/(${names.join('|')})/`;
/** The files of a folder without those of the layers inside of it. */
const inLayer = (folder) => {
  const inner = folders
    .filter((each) => each.startsWith(`${folder}/`))
    .map((each) => each.slice(folder.length + 1));
  return inner.length === 0 ? `^src/${folder}/` : `^src/${folder}/(?!(${inner.join('|')})/)`;
};
/** A package, however it is installed. */
const inPackage = (name) => `(^|/)node_modules/${name}/`;

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

/** One rule per folder: neither the other folders of its own line nor those of later ones. */
const layerRules = layers.flatMap((line, index) =>
  line.map((folder) =>
    forbid(
      `layer-${folder}`,
      `src/${folder} imports only the layers before it`,
      { path: inLayer(folder) },
      {
        path: [
          ...layers
            .slice(index)
            .flat()
            .filter((other) => other !== folder)
            .map(inLayer),
          index > layers.findIndex((each) => each.includes('runtime')) ? ENTRIES : TOP,
        ],
      },
    ),
  ),
);

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...layerRules,
    forbid(
      'known-folder',
      'every folder of src/ is a layer, or in one: give it a place in the list',
      { path: '^src/', pathNot: [inFolders(folders), TOP] },
      {},
    ),
    forbid('no-cycle', 'no cycles, type-only imports included', {}, { circular: true }),
    forbid(
      'apart',
      'control-plane and orca import only util and wire',
      { path: inFolders(apart) },
      {
        path: '^src/',
        pathNot: [
          inFolders(['util', 'wire', ...apart]),
          '^src/grpc-js/(handed-over|host-callbacks|host-log|server-callbacks)\\.ts$',
        ],
      },
    ),
    forbid(
      'nothing-of-apart',
      'the client and the servers import neither the control plane nor the load reports of backends',
      { path: '^src/', pathNot: [inFolders(apart), '^src/internal\\.ts$'] },
      { path: inFolders(apart) },
    ),

    // The companions.
    forbid(
      'library-alone',
      'the library imports no companion; it loads the relay by name',
      { path: '^src/' },
      { path: '^packages/' },
    ),
    forbid(
      'companions-by-name',
      'a companion has an entry of the library by its name, or bundles helpers of util and wire',
      { path: '^packages/' },
      {
        path: '^src/',
        pathNot: [
          inFolders(['util', 'wire']),
          '^src/(index|internal)\\.ts$',
          '^src/[^/]+/index\\.ts$',
          '^src/observe/opentelemetry/index\\.ts$',
        ],
      },
    ),
    forbid(
      'one-identity',
      'which copy of the library an object is of, only the library knows',
      { path: '^packages/' },
      { path: '^src/util/package-copy\\.ts$' },
    ),
    forbid(
      'companions-apart',
      'only the command line uses other companions, by their entries',
      { path: '^packages/([^/]+)/', pathNot: '^packages/cli/' },
      { path: '^packages/', pathNot: '^packages/$1/' },
    ),
    forbid(
      'entries-of-companions',
      'the command line uses the entries of other companions',
      { path: '^packages/cli/' },
      { path: '^packages/', pathNot: '^packages/(cli/|[^/]+/src/(index|internal)\\.ts$)' },
    ),
    forbid(
      'client-loaded-late',
      'commands that need the client load it when they do: by require in lazy()',
      { path: '^packages/cli/', pathNot: '^packages/cli/src/client/' },
      { path: '^packages/cli/src/client/', dependencyTypesNot: ['type-only', 'require'] },
    ),
    forbid(
      'client-without-server',
      'what examines resources as a client shares nothing with the management server',
      { path: '^packages/cli/src/client/' },
      { path: ['^src/control-plane/', '^packages/cli/src/(?!client/)'] },
    ),

    // Narrower than a layer.
    forbid(
      'no-grpc-js-below-transport',
      'xds-client and the parsers of resources know nothing of grpc-js: a fake transport is a page',
      { path: inFolders(['xds-client', 'resources']) },
      { path: inFolders(['grpc-js']) },
    ),
    forbid(
      'xds-client-is-generic',
      'of generated code, xds-client sees discovery, status, Node and the well-known types',
      { path: '^src/xds-client/(?!lrs/)' },
      {
        path: inFolders(['wire/generated']),
        pathNot:
          '^src/wire/generated/(envoy/service/discovery/|envoy/config/core/v3/base\\.ts|envoy/type/v3/semantic_version\\.ts|google/rpc/|google/protobuf/)',
      },
    ),
    forbid(
      'only-parsers-see-protos',
      'in resources, only *-parser.ts and shared/any.ts import generated code; unused-fields.ts has its table there',
      {
        path: inFolders(['resources']),
        pathNot: '(-parser\\.ts$|^src/resources/(shared/any|encoded/unused-fields)\\.ts$)',
      },
      { path: inFolders(['wire/generated']) },
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
      { path: inFolders(['observe/admin', 'observe/opentelemetry']) },
      {
        path: inFolders(['xds-client']),
        pathNot: '^src/xds-client/client-snapshot\\.ts$',
      },
    ),

    forbid(
      'client-and-server-apart',
      'a server shares everything up to security with the client; neither imports the other, and a client loads no server',
      { path: '^src/', pathNot: [inFolders(['server', 'testing']), '^src/internal\\.ts$'] },
      { path: inFolders(['server']) },
    ),
    forbid(
      'server-shares-up-to-security',
      'a server has no channel: no resolver, no dependency manager and no policies',
      { path: inFolders(['server']) },
      { path: inFolders(['resolver', 'dependency-manager', 'lb', 'security/client']) },
    ),
    forbid(
      'shared-security-is-shared',
      'certificates, contexts made of them, and checks of the peer are for clients and servers: they know neither',
      { path: inFolders(['security/(peer|providers|contexts|revocation)']) },
      { path: inFolders(['security/(client|server|credentials)']) },
    ),

    forbid(
      'ads-serves-a-view',
      'the discovery services serve a ResourceView: the snapshots of a control plane are one of several',
      { path: inFolders(['control-plane/ads', 'control-plane/lrs']) },
      { path: inFolders(['control-plane/snapshot']) },
    ),
    // Dependencies.
    forbid(
      'grpc-js-wall',
      'of the library, only src/grpc-js and what is apart import @grpc/grpc-js',
      { path: '^src/', pathNot: inFolders(['grpc-js', ...apart]) },
      { path: inPackage('@grpc/grpc-js') },
    ),
    forbid(
      'protobuf-runtime',
      '@bufbuild/protobuf is for the codec of generated code, its JSON form, what is apart and the scanning of undecoded bytes',
      {
        path: '^src/',
        pathNot: [
          inFolders(['wire/protobuf', 'wire/proto-json', ...apart]),
          '^src/resources/(shared|encoded)/',
        ],
      },
      { path: inPackage('@bufbuild/protobuf') },
    ),
    forbid(
      'yaml-in-documents',
      'YAML is slow to load: src/wire/proto-json reads it for a control plane, and for a client whose resources are in a file',
      {
        path: '^(src|packages)/',
        pathNot: '^src/wire/proto-json/yaml-(document|pieces|values)\\.ts$',
      },
      { path: inPackage('yaml') },
    ),
    forbid(
      'commander-in-cli',
      'only the command line parses arguments',
      { path: '^(src|packages)/', pathNot: '^packages/cli/' },
      { path: inPackage('commander') },
    ),
    forbid(
      're2-behind-matching',
      'the regular expression engine is slow to load: src/resources/matching and the routes of Kubernetes load it for a pattern',
      {
        path: '^(src|packages)/',
        pathNot: ['^src/resources/matching/', '^packages/kubernetes/src/routes/'],
      },
      { path: inPackage('re2js') },
    ),
    forbid(
      'xxhash-behind-hash',
      'the hash function has to be got ready first: src/util sees to that',
      { path: '^src/', pathNot: '^src/util/hashes\\.ts$' },
      { path: inPackage('xxhash-wasm') },
    ),
    forbid(
      'declared-packages',
      'only packages that a user gets are imported: dependencies, peer dependencies and what the build bundles',
      { path: '^(src|packages)/' },
      {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm', 'npm-peer', 'npm-optional'],
      },
    ),
    forbid(
      'resolvable',
      // The layout of graphs is put among the files of the page by scripts/page-assets.mjs.
      'an import that leads nowhere',
      {},
      { couldNotResolve: true, pathNot: '^\\./graph-layout\\.js$' },
    ),
    forbid(
      'packages-alone',
      'the packages import nothing of ours outside of them',
      { path: '^(src|packages)/' },
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
