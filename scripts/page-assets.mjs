// Writes src/wire/generated/page-assets.ts: the files of the live page as text, so that a bundle of an application has them.
//
//   node scripts/page-assets.mjs

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = join(root, 'src', 'observe', 'live-page', 'assets');
const types = new Map([
  ['.css', 'text/css; charset=utf-8'],
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
]);

/** Returns the module with all files of the folder. */
export function createAssetModule() {
  const entries = readdirSync(folder)
    .sort()
    .map((name) => {
      const path = name === 'page.html' ? '/' : `/assets/${name}`;
      const asset = {
        type: types.get(extname(name)),
        text: readFileSync(join(folder, name), 'utf8'),
      };
      return `  [${JSON.stringify(path)}, ${JSON.stringify(asset)}],\n`;
    });
  return `/* eslint-disable */

/** The files of the live page, by path. Made from src/observe/live-page/assets by scripts/page-assets.mjs. */
export const pageAssets: ReadonlyMap<string, { readonly type: string; readonly text: string }> = new Map([
${entries.join('')}]);
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(join(root, 'src', 'wire', 'generated', 'page-assets.ts'), createAssetModule());
}
