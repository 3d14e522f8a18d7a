// The package as it would be published.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const shell = process.platform === 'win32'; // npm is a batch file there

/** Packs the built package into `node_modules/grpc-xds` of a folder, without its dependencies. */
export function installPackage(folder) {
  const target = join(folder, 'node_modules', 'grpc-xds');
  const packed = mkdtempSync(join(tmpdir(), 'grpc-xds-pack-'));
  try {
    const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', packed];
    const output = execFileSync('npm', pack, { cwd: root, shell, encoding: 'utf8' });
    const tarball = join(packed, output.trim().split('\n').at(-1));
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
  } finally {
    rmSync(packed, { recursive: true });
  }
}
