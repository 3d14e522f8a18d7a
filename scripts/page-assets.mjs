// Writes packages/page/src/generated/page-assets.ts: the files of the live page as text, so that a bundle of an application has them.
//
//   node scripts/page-assets.mjs

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { bundledPackages, compileModule } from './bundled-packages.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** The module with the files of the page. */
export const ASSET_MODULE = join(root, 'packages/page/src/generated/page-assets.ts');
const folder = join(root, 'packages/page/src/live-page/assets');
const types = new Map([
  ['.css', 'text/css; charset=utf-8'],
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
]);

/** What the page has of the graphs of the command line: their layout and their words. */
const GRAPH_LAYOUT = `
export { boxText, findCuts, layOut, MAX_WIDTH, TALL_HEIGHT, withRates } from '${join(root, 'packages/page/src/graph/layout.ts')}';
export { urgencyOf } from '${join(root, 'packages/page/src/graph/urgency.ts')}';
export { counted, describeGot, describeState, failuresIn, firstOf, flawOfCalls, joinFirst, number, percent, percentFailing, signed } from '${join(root, 'packages/page/src/graph/words.ts')}';
export { getOrMake } from '${join(root, 'packages/page/src/graph/group-by.ts')}';
export { isOfControlPlane } from '${join(root, 'packages/page/src/graph/control-plane-graph.ts')}';
`;

/** Finds the modules of this package, and compiles them: comments are a fifth of what a browser would load. */
const ownModules = {
  name: 'own-modules',
  resolveId(source, importer) {
    if (source === './graph-layout.js' || source.startsWith(root)) return source;
    if (!source.startsWith('.')) return null;
    return join(dirname(importer), importer.endsWith('.ts') ? `${source}.ts` : source);
  },
  load: (id) => (id === './graph-layout.js' ? GRAPH_LAYOUT : null),
  transform: (code) => compileModule(code),
};

/** One file, because a browser loads only six at once, and finds a module only in the one that imports it. */
async function bundleScripts() {
  const plugins = [ownModules, bundledPackages];
  const input = join(folder, 'page.js');
  const bundle = await rollup({ input, plugins, treeshake: { moduleSideEffects: false } });
  const { output } = await bundle.generate({ format: 'es', inlineDynamicImports: true });
  return output[0].code;
}

/** Returns the module with the files of the folder, of which the scripts are one. */
export async function createAssetModule() {
  const names = readdirSync(folder).filter((name) => extname(name) !== '.js');
  const texts = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  texts.set('page.js', await bundleScripts());
  const entries = [...texts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => {
      const path = name === 'page.html' ? '/' : `/assets/${name}`;
      const asset = { type: types.get(extname(name)), text };
      return `  [${JSON.stringify(path)}, ${JSON.stringify(asset)}],\n`;
    });
  return `/* eslint-disable */

/** The files of the live page, by path. Made from packages/page/src/live-page/assets by scripts/page-assets.mjs. */
export const pageAssets: ReadonlyMap<string, { readonly type: string; readonly text: string }> = new Map([
${entries.join('')}]);
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(ASSET_MODULE, await createAssetModule());
}
