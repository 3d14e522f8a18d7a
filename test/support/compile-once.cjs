// Jest compiles each module anew for each test file, which takes a quarter of the time of small ones.
const vm = require('node:vm');

/** What a process has compiled, by file name. */
const known = new Map();

/**
 * `vm.compileFunction`, by which a module that this process has compiled before runs in another context without being compiled again,
 * and what was compiled of its functions meanwhile is shared. Not where `import()` is, which is bound to one context, and not for test
 * files, each of which runs once.
 */
function compileOnce(compile) {
  return function compileFunction(code, parameters, options) {
    const { filename, parsingContext } = options;
    const isShared = !filename.endsWith('.test.ts') && !code.includes('import(');
    if (!isShared || parsingContext === undefined) return compile(code, parameters, options);
    let compiled = known.get(filename);
    if (compiled?.code !== code) {
      compiled = { code, script: createScript(code, parameters, filename) };
      known.set(filename, compiled);
    }
    return compiled.script.runInContext(parsingContext);
  };
}

/** Creates a script whose value is the function. Places in stacks are those of the code. */
function createScript(code, parameters, filename) {
  const head = `(function (${parameters.join(', ')}) {`;
  return new vm.Script(`${head}${code}\n})`, { filename, columnOffset: -head.length });
}

vm.compileFunction = compileOnce(vm.compileFunction);
