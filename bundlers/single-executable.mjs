import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * Puts a bundle into a copy of the running Node.
 * https://nodejs.org/docs/latest-v20.x/api/single-executable-applications.html
 *
 * @returns the path of the executable.
 */
export async function makeExecutable(bundle, folder) {
  const blob = join(folder, 'sea.blob');
  const config = join(folder, 'sea.json');
  const executable = join(folder, process.platform === 'win32' ? 'app.exe' : 'app');
  writeFileSync(
    config,
    JSON.stringify({ main: bundle, output: blob, disableExperimentalSEAWarning: true }),
  );
  await run(process.execPath, ['--experimental-sea-config', config]);
  copyFileSync(process.execPath, executable);
  chmodSync(executable, 0o755);
  const { inject } = require('postject');
  await inject(executable, 'NODE_SEA_BLOB', readFileSync(blob), { sentinelFuse: FUSE });
  return executable;
}
