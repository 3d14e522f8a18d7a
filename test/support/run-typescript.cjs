// Lets a child process of a test run the TypeScript sources: `node --require <this file> script.ts`.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const Module = require('node:module');
const { version } = require('@swc/core/package.json');
const { packageSources } = require('./package-sources.cjs');

/** What earlier processes have compiled. A test run starts hundreds, and most of what they compile is the same. */
const FOLDER = join(__dirname, '../../node_modules/.cache/run-typescript');

const options = {
  jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
  module: { type: 'commonjs' },
};

/** The compiler is loaded by the first file that is not there yet: that takes longer than most files. */
function compile(source, filename) {
  return require('@swc/core').transformSync(source, { filename, ...options }).code;
}

/** Whatever has a part in the code has one in its name. */
function nameOf(source, filename) {
  const parts = JSON.stringify([version, options, filename, source]);
  return join(FOLDER, `${createHash('sha256').update(parts).digest('hex')}.js`);
}

/** Several processes may write one at a time: it is in its place when it is whole. Without a place, each compiles its own. */
function keep(name, code) {
  try {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(`${name}.${process.pid}`, code);
    renameSync(`${name}.${process.pid}`, name);
  } catch {
    return;
  }
}

function read(name) {
  try {
    return readFileSync(name, 'utf8');
  } catch {
    return undefined;
  }
}

require.extensions['.ts'] = (module, filename) => {
  const source = readFileSync(filename, 'utf8');
  const name = nameOf(source, filename);
  let code = read(name);
  if (code === undefined) {
    code = compile(source, filename);
    keep(name, code);
  }
  module._compile(code, filename);
};

// Packages of this repository import each other by their names.
const resolve = Module._resolveFilename;
Module._resolveFilename = function (request, ...others) {
  return packageSources.get(request) ?? resolve.call(this, request, ...others);
};
