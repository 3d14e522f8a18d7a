// The packages as they would be published.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { library, packages, root } from './packages.mjs';

const shell = process.platform === 'win32'; // npm is a batch file there

/**
 * Packs the library into `node_modules/grpc-xds` of a folder, without its dependencies: as it is built, or, from the folder of
 * another copy of the sources, with what `npm pack` runs first.
 */
export function installPackage(folder, copy) {
  install(library, folder, copy);
}

/** Installs the library and its companions, of which only the library runs what `npm pack` runs first: it builds all. */
export function installPackages(folder, copy) {
  install(library, folder, copy);
  for (const each of packages) {
    if (each !== library) install(each, folder, copy, ['--ignore-scripts']);
  }
}

function install(
  { name, folder: path },
  folder,
  copy,
  scripts = copy === undefined ? ['--ignore-scripts'] : [],
) {
  const target = join(folder, 'node_modules', name);
  const packed = mkdtempSync(join(tmpdir(), 'grpc-xds-pack-'));
  try {
    const pack = ['pack', ...scripts, '--silent', '--pack-destination', packed];
    const output = execFileSync('npm', pack, {
      cwd: join(copy ?? root, path),
      shell,
      encoding: 'utf8',
    });
    const tarball = join(packed, output.trim().split('\n').at(-1));
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
  } finally {
    rmSync(packed, { recursive: true });
  }
}
