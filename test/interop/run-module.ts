import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(__dirname, '..', '..');

/**
 * Runs a script that imports modules of `interop/`, which are ECMAScript modules that Jest cannot load.
 * @returns what the script passes to `answer`.
 */
export async function runModule(script: string): Promise<unknown> {
  const source = `const answer = (value) => console.log(JSON.stringify(value));\n${script}`;
  const args = ['--input-type=module', '--eval', source];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  return JSON.parse(stdout);
}
