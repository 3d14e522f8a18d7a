// The packages of this repository: the library at its root, and its companions in packages/.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Reads a package. @param folder Relative to the root. */
function read(folder) {
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const { name, exports, bin = {} } = manifest;
  const entries = Object.entries(exports).flatMap(([path, target]) =>
    target.default === undefined ? [] : [{ path, code: target.default, types: target.types }],
  );
  return { name, folder, manifest, entries, programs: Object.values(bin) };
}

export const library = read('.');
export const companions = readdirSync(join(root, 'packages'))
  .sort()
  .map((name) => read(`packages/${name}`));
export const packages = [library, ...companions];

/** The modules that a package is built of, by the names of the files that are built, without their ends. */
export function inputsOf({ folder, entries, programs }) {
  const files = [...entries.map(({ code }) => code), ...programs];
  const names = files.map((path) => path.replace(/^\.\/dist\//, '').replace(/\.js$/, ''));
  return Object.fromEntries(
    names.map((name) => [name, join('build', folder, 'src', `${name}.js`)]),
  );
}
