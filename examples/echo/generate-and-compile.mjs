// Generates code from echo.proto with the plugin of an example, and compiles the example with the compiler in its packages.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

/** @param plugin The name of a program of the example, such as `protoc-gen-ts_proto`. */
export function generateAndCompile(url, plugin, options) {
  const folder = dirname(fileURLToPath(url));
  const bin = join(folder, 'node_modules', '.bin');
  const template = {
    version: 'v2',
    plugins: [{ local: join(bin, plugin), out: join(folder, 'generated'), opt: options }],
  };
  for (const output of ['generated', 'dist'])
    rmSync(join(folder, output), { recursive: true, force: true });
  execFileSync(join(bin, 'buf'), ['generate', here, '--template', JSON.stringify(template)], {
    stdio: 'inherit',
  });
  const compiler = createRequire(url).resolve('typescript/lib/tsc.js');
  const flags = [
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--strict',
    '--types',
    'node',
    '--outDir',
    'dist',
  ];
  execFileSync(process.execPath, [compiler, ...flags, 'client.ts'], {
    cwd: folder,
    stdio: 'inherit',
  });
  return import(join(folder, 'dist', 'client.js'));
}
