// Writes src/wire/generated/page-assets.ts: the files of the live page as text, so that a bundle of an application has them.
//
//   node scripts/page-assets.mjs

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { bundledPackages, compileModule } from './bundled-packages.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = join(root, 'src', 'observe', 'live-page', 'assets');
const types = new Map([
  ['.css', 'text/css; charset=utf-8'],
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
]);

/** What the page has of the graphs of the command line: their layout, which is that of d3-sankey, and their text. */
const GRAPH_LAYOUT = `
export { countLayers, layOut } from '${join(root, 'src/observe/graph/layout.ts')}';
export { isOfControlPlane } from '${join(root, 'src/observe/graph/control-plane-graph.ts')}';
export { toTree } from '${join(root, 'src/observe/graph/graph-text.ts')}';
`;

/** Finds and compiles modules of this package. */
const ownModules = {
  name: 'own-modules',
  resolveId(source, importer) {
    if (source === 'entry' || source.startsWith(root)) return source;
    const isOwn = source.startsWith('.') && importer.endsWith('.ts');
    return isOwn ? `${join(dirname(importer), source)}.ts` : null;
  },
  load: (id) => (id === 'entry' ? GRAPH_LAYOUT : null),
  transform: (code, id) => (id.endsWith('.ts') ? compileModule(code) : null),
};

async function bundleGraphLayout() {
  const plugins = [ownModules, bundledPackages];
  const bundle = await rollup({ input: 'entry', plugins, treeshake: { moduleSideEffects: false } });
  const { output } = await bundle.generate({ format: 'es' });
  return output[0].code;
}

/** Returns the module with all files of the folder, and the layout of graphs. */
export async function createAssetModule() {
  const texts = new Map(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
  texts.set('graph-layout.js', await bundleGraphLayout());
  const entries = [...texts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => {
      const path = name === 'page.html' ? '/' : `/assets/${name}`;
      const asset = { type: types.get(extname(name)), text };
      return `  [${JSON.stringify(path)}, ${JSON.stringify(asset)}],\n`;
    });
  return `/* eslint-disable */

/** The files of the live page, by path. Made from src/observe/live-page/assets by scripts/page-assets.mjs. */
export const pageAssets: ReadonlyMap<string, { readonly type: string; readonly text: string }> = new Map([
${entries.join('')}]);
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(
    join(root, 'src', 'wire', 'generated', 'page-assets.ts'),
    await createAssetModule(),
  );
}
