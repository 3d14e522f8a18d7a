import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { exitCode } from '../io';

/** In the folder of the package. */
const DEMO = join('examples', 'demo', 'main.mjs');

/**
 * Runs the demo in a process of its own, to which the terminal belongs.
 *
 * @param packageFolder The folder of this package, which has the folder `examples`.
 * @returns the exit code of the demo.
 */
export function demo(packageFolder: string): Promise<number> {
  const child = spawn(process.execPath, [join(packageFolder, DEMO)], { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? exitCode.findings));
  });
}
