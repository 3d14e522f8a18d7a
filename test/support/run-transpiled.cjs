// As run-typescript.cjs, for a process whose current folder was removed: swc needs one.
const { readFileSync } = require('node:fs');
const { ModuleKind, ScriptTarget, transpileModule } = require('typescript');

require.extensions['.ts'] = (module, filename) => {
  const compilerOptions = { module: ModuleKind.CommonJS, target: ScriptTarget.ES2022 };
  const { outputText } = transpileModule(readFileSync(filename, 'utf8'), { compilerOptions });
  module._compile(outputText, filename);
};
