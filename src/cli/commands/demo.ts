import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { exitCode, type CliIo } from '../io';

/** In the folder of the package. */
const DEMO = join('examples', 'demo', 'main.mjs');

/**
 * Runs the demo in a process of its own, to which the terminal belongs, and ends it when it is interrupted.
 *
 * @returns the exit code of the demo.
 */
export function demo(io: Pick<CliIo, 'packageFolder' | 'onInterrupt'>): Promise<number> {
  const child = spawn(process.execPath, [join(io.packageFolder, DEMO)], { stdio: 'inherit' });
  const interrupt = io.onInterrupt(() => child.kill());
  return new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? exitCode.findings));
  }).finally(() => interrupt.release());
}
