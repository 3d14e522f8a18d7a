import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(__dirname, '../..');

/** The folders with the sources of the library and of its companions, relative to the root. */
export const SOURCE_FOLDERS: readonly string[] = [
  'src',
  ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/src`),
];

/** The files in these folders with an ending, relative to the root. */
export function sourceFiles(ending: string): readonly string[] {
  return SOURCE_FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(ending))
      .map((path) => join(folder, path)),
  );
}
