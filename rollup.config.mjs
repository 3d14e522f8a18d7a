import { existsSync } from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { BUNDLED, bundledPackages } from './scripts/bundled-packages.mjs';
import { companions, inputsOf, library } from './scripts/packages.mjs';

// Puts the modules of each entry into one file, and what entries share into another: loading a few files
// instead of hundreds is most of the start-up time. See docs/decisions/build.md.

/** Finds `folder/index.js` for an import of `folder`, as Node does. */
const folderImports = {
  name: 'folder-imports',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.')) return null;
    const index = resolve(dirname(importer), source, 'index.js');
    return existsSync(index) ? index : null;
  },
};

/**
 * Lets a module of ours load another one when it is first needed: `require('./folder/late')`, a relative path in
 * a call of its own. The module and what only it needs become files that nobody loads before.
 */
const lateRequires = {
  name: 'late-requires',
  transform(code, id) {
    if (!code.includes("require('.")) return null;
    const changed = code.replace(/\brequire\('(\.{1,2}\/[^']+)'\)/g, (_call, path) => {
      const file = resolve(dirname(id), path);
      // The main file of a folder has the name of the folder.
      const name = basename(file.replace(/[\\/](index|balancer)$/, ''));
      // Its file may export what others need of it too: otherwise there would be a second one for them.
      const options = { id: `${file}.js`, name, preserveSignature: 'allow-extension' };
      const late = this.emitFile({ type: 'chunk', ...options });
      return `require(import.meta.ROLLUP_FILE_URL_${late})`;
    });
    // Lines stay where they are, so the source map holds.
    return { code: changed, map: null };
  },
  // Where `require` wants a path, not a URL.
  resolveFileUrl: ({ relativePath }) =>
    JSON.stringify(relativePath.startsWith('.') ? relativePath : `./${relativePath}`),
};

/** Every module that has to be there for another to run; late ones have not. */
function reachableFrom(id, getModuleInfo, found = new Set()) {
  if (found.has(id)) return found;
  found.add(id);
  for (const imported of getModuleInfo(id)?.importedIds ?? []) {
    reachableFrom(imported, getModuleInfo, found);
  }
  return found;
}

/**
 * What several late modules need. Left alone, there would be a file for each set of them that shares something, and a
 * client with TLS would load nine of them. The modules of one file are needed together, or add little to each other.
 */
const sharedByLate = [
  {
    file: 'certificates',
    modules:
      /^(security\/(contexts\/(client-contexts|tls-options)|client\/(channel-connector|http-connect|policy-connector)|credentials\/(cached-token|define-channel-credentials|gcp-identity-token|google-default)|peer\/(certificate-(fields|names)|check-(failure|host-name|peer)|distinguished-name|handshake-results|san-matcher|spiffe-id|subject-alt-names)|providers\/(pem|trust-bundle-map|parse-certificate|instance-tls|certificate-(files|provider)|encoded-keys|used-providers|watched-certificates))|resources\/tls\/common-tls-context-parser|util\/(der|jwt-expiry))\.js$/,
  },
  {
    file: 'authorization',
    modules:
      /^(authorization\/(audit-logger|authorization-engine|evaluated-request|refusal|request)|http-filters\/(rbac\/rbac-parser|server-filter-chain)|resources\/shared\/address-parser)\.js$/,
  },
  {
    file: 'mutations',
    modules:
      /^(http-filters\/header-mutation\/apply-mutations|wire\/generated\/envoy\/config\/common\/mutation_rules\/v3\/mutation_rules)\.js$/,
  },
  // JSON of resources: reading it, and what is said of it.
  {
    file: 'json',
    modules:
      /^(wire\/proto-json\/(envoy-fields|explain-json|json-diff|json-object|json-problem)|util\/value-at)\.js$/,
  },
  // What an application gives to `register()`, or as channel options, besides plain values.
  {
    file: 'application-options',
    modules: /^(grpc-js\/child-channel-options|util\/(abort|application-logger))\.js$/,
  },
  { file: 'paths', modules: /^routing\/(path-index|prefix-tree)\.js$/ },
  { file: 'resource-files', modules: /^transport\/file\/(file-resource|watched-files)\.js$/ },
  {
    file: 'matchers',
    modules:
      /^wire\/generated\/(xds\/type\/matcher\/v3\/|envoy\/type\/matcher\/v3\/http_inputs).*\.js$/,
  },
  {
    file: 'backend-loads',
    modules:
      /^(lb\/orca\/call-load-report|wire\/generated\/xds\/(data|service)\/orca\/v3\/\w+)\.js$/,
  },
  {
    file: 'descriptions',
    modules:
      /^(routing\/describe-mismatch|server\/observation\/(describe-chain|recent-calls))\.js$/,
  },
  // Small ones, each shared by a few.
  {
    file: 'common',
    modules:
      /^(lb\/endpoints\/endpoint-weights|resources\/matching\/re2-syntax|lb\/grpc-js-policy\/grpc-js-child|xds-client\/lrs\/metrics|authorization\/rules|observe\/admin\/process-servers|grpc-js\/server-callbacks|transport\/served-stream|util\/(connection-ends|host-port|last-good|made-once|replaceable-path))\.js$/,
  },
];

/**
 * Options of the output: which modules share a file, and what it is called.
 *
 * What is there before any channel, what the first channel loads, and what that shares with other entries or with late
 * modules go into one file each. Left alone, there would be one for each set of files that share something, and a
 * client would load them all.
 */
function createSharing() {
  const main = resolve('build/src/index.js');
  const runtime = resolve('build/src/runtime/xds-runtime.js');
  let always, own, others;
  const fileOf = (id, { getModuleIds, getModuleInfo }) => {
    if (own === undefined) {
      always = reachableFrom(main, getModuleInfo);
      own = reachableFrom(runtime, getModuleInfo);
      others = new Set();
      for (const entry of getModuleIds()) {
        const isRoot =
          entry !== main && entry !== runtime && getModuleInfo(entry)?.isEntry === true;
        if (isRoot) reachableFrom(entry, getModuleInfo, others);
      }
    }
    if (always.has(id)) return own.has(id) || others.has(id) ? 'always' : undefined;
    if (own.has(id)) return others.has(id) ? 'common' : undefined;
    const path = relative(resolve('build/src'), id).replaceAll('\\', '/');
    return sharedByLate.find(({ modules }) => modules.test(path))?.file;
  };
  const files = new Map();
  return {
    manualChunks(id, graph) {
      const file = fileOf(id, graph);
      if (file !== undefined) files.set(id, file);
      return file;
    },
    // Rollup names a file after the late module that it is the file of, if there is one among those that share it.
    chunkFileNames: ({ moduleIds, name }) => `shared/${files.get(moduleIds[0]) ?? name}.js`,
  };
}

/** The lines of a file that begin inside of a template, whose text they are. */
function linesOfTemplates(node, code, found = new Set()) {
  if (node === null || typeof node !== 'object') return found;
  if (node.type === 'TemplateElement') {
    let line = code.indexOf('\n', node.start);
    for (; line !== -1 && line < node.end; line = code.indexOf('\n', line + 1)) found.add(line + 1);
  }
  for (const child of Object.values(node)) linesOfTemplates(child, code, found);
  return found;
}

/** Compresses the schema of the messages to a quarter. What reads it has the same text as in the sources. */
const compressedSchema = {
  name: 'compressed-schema',
  transform(code, id) {
    if (!/[\\/]generated[\\/]descriptor-set\.js$/.test(id)) return null;
    const text = Array.from(code.matchAll(/'([\w+/=]+)'/g), ([, line]) => line).join('');
    const packed = deflateRawSync(Buffer.from(text, 'base64'), { level: 9 }).toString('base64');
    const unpacked = `inflateRawSync(Buffer.from('${packed}', 'base64')).toString('base64')`;
    const changed = `import { inflateRawSync } from 'node:zlib';\nexport const descriptorSet = ${unpacked};\n`;
    return { code: changed, map: null };
  },
};

/** Indents by one space instead of four: every process reads these files. */
const indent = {
  name: 'indent',
  renderChunk(code) {
    const kept = linesOfTemplates(this.parse(code), code);
    const changed = code.replace(/^(?: {4})+/gm, (spaces, start) =>
      kept.has(start) ? spaces : ' '.repeat(spaces.length / 4),
    );
    return { code: changed, map: null };
  },
};

/**
 * Escapes what is not ASCII: one other character in a file makes V8 keep all of it as text of two bytes each. Where it
 * is in the sources it is in a string or a template.
 */
const ascii = {
  name: 'ascii',
  renderChunk(code) {
    const changed = code.replace(
      /[^\0-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    return changed === code ? null : { code: changed, map: null };
  },
};

/** A companion contains helpers of the library, and throws the library's own class of errors: `instanceof` holds for both. */
const errorsOfLibrary = {
  name: 'errors-of-library',
  resolveId: (source) =>
    source.endsWith('/xds-error') ? { id: library.name, external: true } : null,
};

/** Options that all packages share. @param output Those of the output of one of them. */
const optionsOf = (pkg, output) => ({
  input: inputsOf(pkg),
  plugins: [
    ...(pkg === library ? [] : [errorsOfLibrary]),
    ...[folderImports, bundledPackages, lateRequires, compressedSchema, indent, ascii],
  ],
  // Dependencies stay where they are.
  external: (id) => !BUNDLED.has(id) && !/^([./]|build\/)/.test(id),
  treeshake: { moduleSideEffects: (id) => !id.includes('node_modules') },
  output: {
    dir: `${pkg.folder}/dist`,
    format: 'cjs',
    exports: 'named',
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name].js',
    hoistTransitiveImports: false,
    generatedCode: 'es2015',
    ...output,
  },
});

/** @type {import('rollup').RollupOptions[]} */
export default [
  optionsOf(library, { ...createSharing(), onlyExplicitManualChunks: true }),
  ...companions.map((pkg) => optionsOf(pkg)),
];
