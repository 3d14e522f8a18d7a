import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

// Puts the modules of each entry into one file, and what entries share into another: loading a few files
// instead of hundreds is most of the start-up time. See docs/decisions/0006-bundled-build.md.

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
 * The wire format of protocol buffers, of which the generated code uses two classes: bundling it saves loading
 * the two dozen files of the package.
 */
const WIRE = '@bufbuild/protobuf/wire';

const bundledWire = {
  name: 'bundled-wire',
  resolveId: (source) =>
    source === WIRE
      ? { id: fileURLToPath(import.meta.resolve(WIRE)), moduleSideEffects: false }
      : null,
};

/** @type {import('rollup').RollupOptions} */
export default {
  input: {
    index: 'build/index.js',
    'control-plane/index': 'build/control-plane/index.js',
    'cli/main': 'build/cli/main.js',
  },
  plugins: [folderImports, bundledWire],
  // Dependencies stay where they are.
  external: (id) => id !== WIRE && !/^([./]|build\/)/.test(id),
  treeshake: { moduleSideEffects: (id) => !id.includes('node_modules') },
  output: {
    dir: 'dist',
    format: 'cjs',
    exports: 'named',
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name].js',
    sourcemap: true,
    generatedCode: 'es2015',
  },
};
