// What is bundled of other packages, in the package and in the live page.

import { fileURLToPath } from 'node:url';
import typescript from 'typescript';

/**
 * What is bundled of other packages: the wire format of protocol buffers, of which the generated code uses two classes. Loading its
 * package would load two dozen files.
 */
export const BUNDLED = new Set(['@bufbuild/protobuf/wire']);

/** Compiles a module for Node and browsers, without comments; NOTICE has the licences of other packages. */
export function compileModule(code) {
  const { ESNext } = typescript.ModuleKind;
  const compilerOptions = { module: ESNext, target: ESNext, removeComments: true };
  return { code: typescript.transpileModule(code, { compilerOptions }).outputText, map: null };
}

export const bundledPackages = {
  name: 'bundled-packages',
  resolveId: (source) =>
    BUNDLED.has(source)
      ? { id: fileURLToPath(import.meta.resolve(source)), moduleSideEffects: false }
      : null,
  transform: (code, id) => (id.includes('node_modules') ? compileModule(code) : null),
};
