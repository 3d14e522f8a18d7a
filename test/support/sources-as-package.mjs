// Lets a child process of a test run a program that imports `grpc-xds` on the TypeScript sources, without a build:
// `node --import <this file> program.mjs`.
import { createRequire, register } from 'node:module';

const require = createRequire(import.meta.url);
require('./run-typescript.cjs');

const { packageSources } = require('./package-sources.cjs');

/** The source of a module that has the exports of another one. */
const forward = (path) => {
  const names = Object.keys(require(path)).join(', ');
  const source = `import { createRequire } from 'node:module';
    export const { ${names} } = createRequire(${JSON.stringify(path)})(${JSON.stringify(path)});`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
};

const modules = Array.from(packageSources, ([name, path]) => [name, forward(path)]);

// Hooks run in a thread of their own, so they are a module, too.
const hooks = `const modules = new Map(${JSON.stringify(modules)});
  export const resolve = (specifier, context, next) => {
    const url = modules.get(specifier);
    return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
  };`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
