// The import ranks: a room of src/ imports only rooms of lower rank, type-only imports included. A room is a folder with a
// README.md, whose first words are its rank; a file belongs to the innermost room around it.
const { readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

const src = join(__dirname, 'src');

/** Each room, as the path of its folder below src/, with its rank; that of an island is `undefined`. */
const rooms = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('/README.md'))
  .sort()
  .map((path) => {
    const [, rank] = /^(?:Rank (\d+)|Island)\. /.exec(readFileSync(join(src, path), 'utf8')) ?? [];
    return { path: path.slice(0, -'/README.md'.length), rank: rank && Number(rank) };
  });
const island = rooms.filter(({ rank }) => rank === undefined).map(({ path }) => path);
/** Commands that examine resources and servers as a client does: the one way from the island to the client. */
const crossing = '^src/cli/client/';
/** Joins the client with the control plane, from above both. */
const relay = '^src/relay/';

const inFolders = (names) => `^src/(${names.join('|')})/`;
/** The files of a room without those of the rooms inside of it. */
const inRoom = ({ path }) => {
  const inner = rooms
    .filter((room) => room.path.startsWith(`${path}/`))
    .map((room) => room.path.slice(path.length + 1));
  return inner.length === 0 ? `^src/${path}/` : `^src/${path}/(?!(${inner.join('|')})/)`;
};
/** A package, however it is installed; `subpath` limits it to one file of its exports. */
const inPackage = (name) => `(^|/)node_modules/${name}/`;

/** One rule per room: neither the other rooms of its own rank nor any of a higher one. */
const rankRules = rooms
  .filter(({ rank }) => rank !== undefined)
  .map((room) => ({
    name: `rank-${room.rank}-${room.path}`,
    comment: `src/${room.path} has rank ${room.rank} and imports only rooms of lower rank`,
    severity: 'error',
    from: { path: inRoom(room) },
    to: {
      path: [
        ...rooms.filter(({ rank, path }) => rank >= room.rank && path !== room.path).map(inRoom),
        // `register.ts` has the runtime of the process, rank 11, for the servers above it.
        room.rank > 11 ? '^src/(extend|index)\\.ts$' : '^src/(register|extend|index)\\.ts$',
      ],
    },
  }));

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...rankRules,
    forbid(
      'known-folder',
      'every folder of src/ is a room or in one: give it a README.md with its rank',
      {
        path: '^src/',
        pathNot: [inFolders(rooms.map(({ path }) => path)), '^src/(register|extend|index)\\.ts$'],
      },
      {},
    ),
    forbid('no-cycle', 'no cycles, type-only imports included', {}, { circular: true }),

    // Narrower than a rank.
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
      {
        path: '^src/',
        pathNot: `(${inFolders(['server', 'relay', 'cli', 'testing'])}|^src/register\\.ts$)`,
      },
      { path: inFolders(['server', 'relay']) },
    ),
    forbid(
      'relay-loaded-late',
      'processes that share their streams load a relay, when they do: by require in late()',
      { path: '^src/register\\.ts$' },
      { path: inFolders(['server', 'relay']), dependencyTypesNot: ['type-only', 'require'] },
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
      { path: inFolders(['security/(peer|providers|contexts)']) },
      { path: inFolders(['security/(client|server|credentials)']) },
    ),

    // The island.
    forbid(
      'island',
      'control-plane, cli and orca never import the client: a test oracle must not share its mistakes, nor a server load it',
      { path: inFolders(island), pathNot: crossing },
      {
        path: '^src/',
        pathNot: [
          inFolders(['util', 'wire', 'observe/live-page', ...island]),
          '^src/grpc-js/(handed-over|host-callbacks|host-log|server-callbacks)\\.ts$',
        ],
      },
    ),
    forbid(
      'crossing-loaded-late',
      'the client is loaded by the commands that need it, when they need it: by require in late()',
      { path: '^src/', pathNot: crossing },
      { path: crossing, dependencyTypesNot: ['type-only', 'require'] },
    ),
    forbid(
      'crossing-sees-the-client-only',
      'what the verdict is made of shares nothing with the management server',
      { path: crossing },
      { path: inFolders(island), pathNot: crossing },
    ),
    forbid(
      'no-bridge-to-the-island',
      'the client never imports the control plane or the command line; the relay joins them',
      { path: '^src/', pathNot: [inFolders(island), relay] },
      { path: inFolders(island) },
    ),
    forbid(
      'control-plane-front-door',
      'the command line uses what any user of the control plane can use; record listens as its servers do',
      { path: inFolders(['cli']) },
      {
        path: inFolders(['control-plane']),
        pathNot: '^src/control-plane/(index|service-host)\\.ts$',
      },
    ),
    forbid(
      'ads-serves-a-view',
      'the discovery services serve a ResourceView: the snapshots of a control plane are one of several',
      { path: inFolders(['control-plane/ads', 'control-plane/lrs']) },
      { path: inFolders(['control-plane/snapshot']) },
    ),
    forbid(
      'live-page-in-cli',
      'of the island, only the command line serves the live page',
      { path: inFolders(['control-plane', 'orca']) },
      { path: inFolders(['observe/live-page']) },
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
          inFolders(['wire/protobuf', 'wire/proto-json', ...island]),
          '^src/resources/(shared|encoded)/',
        ],
      },
      { path: inPackage('@bufbuild/protobuf') },
    ),
    forbid(
      'yaml-in-documents',
      'YAML is slow to load: src/wire/proto-json reads it for the island, and for a client whose resources are in a file',
      { path: '^src/', pathNot: '^src/wire/proto-json/yaml-(document|pieces|values)\\.ts$' },
      { path: inPackage('yaml') },
    ),
    forbid(
      'commander-in-cli',
      'only the command line parses arguments',
      { path: '^src/', pathNot: inFolders(['cli']) },
      { path: inPackage('commander') },
    ),
    forbid(
      're2-behind-matching',
      'the regular expression engine is slow to load: src/resources/matching and the routes of Kubernetes load it for a pattern',
      {
        path: '^src/',
        pathNot: inFolders(['resources/matching', 'control-plane/kubernetes/routes']),
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
      'layouts-in-graphs',
      'only pictures load a library of layouts',
      { path: '^src/', pathNot: '^src/observe/graph/layout\\.ts$' },
      { path: inPackage('d3-sankey') },
    ),
    forbid(
      'declared-packages',
      'src/ imports only packages that a user gets: dependencies, peer dependencies and what the build bundles',
      { path: '^src/' },
      {
        pathNot: inPackage('d3-sankey'),
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
