// What is bundled of other packages, in the package and in the live page.

import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import typescript from 'typescript';

/**
 * What is bundled of other packages: the wire format of protocol buffers, of which the generated code uses two classes
 * (loading its package would load two dozen files), and the layout of pictures, which one command needs.
 */
export const BUNDLED = new Set([
  '@bufbuild/protobuf/wire',
  'd3-sankey',
  'd3-array',
  'd3-shape',
  'd3-path',
  'internmap',
]);

/** Finds the ES module of a package: packages without `exports` name it in `module`. */
function findModule(source, importer) {
  const require = createRequire(importer);
  if (source.startsWith('@')) return fileURLToPath(import.meta.resolve(source));
  const manifest = require.resolve(`${source}/package.json`);
  return resolve(dirname(manifest), require(manifest).module);
}

/** Compiles a module for Node and browsers, without comments; NOTICE has the licences of other packages. */
export function compileModule(code) {
  const { ESNext } = typescript.ModuleKind;
  const compilerOptions = { module: ESNext, target: ESNext, removeComments: true };
  return { code: typescript.transpileModule(code, { compilerOptions }).outputText, map: null };
}

export const bundledPackages = {
  name: 'bundled-packages',
  resolveId: (source, importer) =>
    BUNDLED.has(source) ? { id: findModule(source, importer), moduleSideEffects: false } : null,
  transform: (code, id) => (id.includes('node_modules') ? compileModule(code) : null),
};
