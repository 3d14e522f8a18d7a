import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parsePage, ROOT, type Page } from './pages';

/** The folder of its pages in the site. */
const FOLDER = 'docs/api';

/** Generates a page for each entry of the package from the declarations in `dist`. */
export function generateApiReference(): readonly Page[] {
  const manifest: { exports: Record<string, { types?: string }> } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  );
  const entries = Object.entries(manifest.exports).flatMap(([path, { types }]) =>
    types === undefined ? [] : [{ name: path.replace('.', 'grpc-xds'), types: join(ROOT, types) }],
  );
  const build = join(ROOT, 'build');
  mkdirSync(build, { recursive: true });
  const config = join(build, 'typedoc.json');
  const copies = entries.map(({ types }) => copyWithoutMessages(types, join(build, 'typedoc')));
  writeFileSync(config, JSON.stringify(optionsOf(copies)));
  execFileSync(process.execPath, ['node_modules/typedoc/bin/typedoc', '--options', config], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return entries.map(({ name, types }) => {
    const [, module = 'index'] = /dist\/(?:(.+)\/)?index\.d\.ts$/.exec(types) ?? [];
    const text = readFileSync(join(build, 'api', `${module}.md`), 'utf8');
    return withoutNumbers(
      parsePage(`${FOLDER}/${module}.md`, text.replace(/^# .*$/m, `# ${name}`)),
    );
  });
}

/** The declarations of the messages of Envoy, in the namespaces of their packages. */
const NAMESPACE = /^export declare namespace (\w+)[^]*?\n\}\n/gm;

/** Copies declarations; those of Envoy's messages, which Envoy documents, go into a module beside it that has no page. */
function copyWithoutMessages(types: string, folder: string): string {
  const text = readFileSync(types, 'utf8');
  const names = new Set([...text.matchAll(NAMESPACE)].map(([, name = '']) => name));
  const path = join(folder, types.slice(join(ROOT, 'dist').length));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path.replace(/index\.d\.ts$/, 'messages.d.ts'),
    [...text.matchAll(NAMESPACE)].map(([declaration]) => declaration).join(''),
  );
  const imported =
    names.size === 0 ? '' : `import type { ${[...names].join(', ')} } from './messages';\n`;
  writeFileSync(path, imported + text.replace(NAMESPACE, ''));
  return path;
}

/**
 * Removes the numbers of anchors that the page does not have: the generator counts headings of equal names over all entries.
 */
function withoutNumbers({ path, text, anchors }: Page): Page {
  const replaced = text.replace(/\(#([\w-]+)-\d+\)/g, (link, name: string) =>
    anchors.has(link.slice(2, -1)) ? link : `(#${name})`,
  );
  return parsePage(path, replaced);
}

function optionsOf(entryPoints: readonly string[]): object {
  const tsconfig = join(ROOT, 'build', 'typedoc-tsconfig.json');
  writeFileSync(
    tsconfig,
    JSON.stringify({ extends: '../tsconfig.json', include: [], files: entryPoints }),
  );
  return {
    plugin: ['typedoc-plugin-markdown'],
    ...{ tsconfig, entryPoints, out: join(ROOT, 'build', 'api') },
    outputFileStrategy: 'modules',
    logLevel: 'Error',
    readme: 'none',
    ...{ hidePageHeader: true, hideBreadcrumbs: true, hideGenerator: true, disableSources: true },
    ...{ excludePrivate: true, excludeExternals: true, categorizeByGroup: true },
  };
}
