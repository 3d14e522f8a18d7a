// Builds every package: its dist/.
//
//   npm run build
//   npm run build -- --tree DIR     the library as it stands in src/, a file for each module, for looking into: DIR/dist
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createRequire } from 'node:module';
import { packages, root } from './packages.mjs';

const require = createRequire(import.meta.url);
const folderOf = (name) => dirname(require.resolve(`${name}/package.json`));
const programs = {
  tsc: join(folderOf('typescript'), 'bin/tsc'),
  rollup: join(folderOf('rollup'), 'dist/bin/rollup'),
};

function run(program, ...args) {
  execFileSync(process.execPath, [programs[program], ...args], { cwd: root, stdio: 'inherit' });
}

/** What the command line runs and names of examples/ is in its build. */
function copyExamples() {
  for (const path of ['examples/demo', 'examples/echo.yaml']) {
    cpSync(join(root, path), join(root, 'packages/cli/dist', path), { recursive: true });
  }
}

function build() {
  for (const folder of ['build', ...packages.map((each) => join(each.folder, 'dist'))]) {
    rmSync(join(root, folder), { recursive: true, force: true });
  }
  run('tsc', '-p', 'tsconfig.build.json');
  run('rollup', '--silent', '--config', 'rollup.config.mjs');
  copyExamples();
}

/** A folder that can be required like the package. Its node_modules are those of the repository. */
function buildTree(folder) {
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  run('tsc', '-p', 'tsconfig.tree.json', '--outDir', join(folder, 'dist'));
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  rmSync(join(folder, 'node_modules'), { force: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
}

const [option, folder] = process.argv.slice(2);
if (option === undefined) build();
else if (option === '--tree' && folder !== undefined) buildTree(resolve(folder));
else {
  console.error('Usage: npm run build [-- --tree DIR]');
  process.exitCode = 2;
}
