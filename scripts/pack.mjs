// The package as it would be published.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const shell = process.platform === 'win32'; // npm is a batch file there

/**
 * Packs the package into `node_modules/grpc-xds` of a folder, without its dependencies: as it is built, or, from the folder of
 * another copy of the sources, with what `npm pack` runs first.
 */
export function installPackage(folder, copy) {
  const target = join(folder, 'node_modules', 'grpc-xds');
  const packed = mkdtempSync(join(tmpdir(), 'grpc-xds-pack-'));
  try {
    const scripts = copy === undefined ? ['--ignore-scripts'] : [];
    const pack = ['pack', ...scripts, '--silent', '--pack-destination', packed];
    const output = execFileSync('npm', pack, { cwd: copy ?? root, shell, encoding: 'utf8' });
    const tarball = join(packed, output.trim().split('\n').at(-1));
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
  } finally {
    rmSync(packed, { recursive: true });
  }
}
