// Lets a child process of a test run a program that imports `grpc-xds` on the TypeScript sources, without a build:
// `node --import <this file> program.mjs`.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { dirname, join } from 'node:path';

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

/** The text of the program, which is an option, or that of the modules beside it. */
function programTexts() {
  const [, program] = process.argv;
  if (program === undefined) return process.execArgv;
  const names = readdirSync(dirname(program)).filter((name) => name.endsWith('.mjs'));
  return names.map((name) => readFileSync(join(dirname(program), name), 'utf8'));
}

// Loading every package takes longer than most programs run.
const texts = programTexts();
const modules = Array.from(packageSources)
  .filter(([name]) => texts.some((text) => text.includes(`'${name}'`)))
  .map(([name, path]) => [name, forward(path)]);

// Hooks run in a thread of their own, so they are a module, too.
const hooks = `const modules = new Map(${JSON.stringify(modules)});
  export const resolve = (specifier, context, next) => {
    const url = modules.get(specifier);
    return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
  };`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
