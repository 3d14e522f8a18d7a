import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const HOST = dirname(require.resolve('@grpc/grpc-js/package.json'));

/** A second installation of grpc-js, in a folder of its own. */
export interface HostCopy {
  /** Of its main module. */
  readonly path: string;
  remove(): void;
}

/**
 * Copies the installed grpc-js.
 *
 * @param options.version The version in its manifest. Default: that of the installed one.
 * @param options.without Members that `experimental` is to lack.
 */
export function copyHost(
  options: { version?: string; without?: readonly string[] } = {},
): HostCopy {
  const root = mkdtempSync(join(tmpdir(), 'grpc-js-copy-'));
  const folder = join(root, 'node_modules', '@grpc', 'grpc-js');
  cpSync(join(HOST, 'build', 'src'), join(folder, 'build', 'src'), {
    recursive: true,
    filter: (path) => !path.endsWith('.map') && !path.endsWith('.d.ts'),
  });
  cpSync(join(HOST, 'proto'), join(folder, 'proto'), { recursive: true });
  const manifest = JSON.parse(readFileSync(join(HOST, 'package.json'), 'utf8')) as object;
  const { version, without = [] } = options;
  const edited = { ...manifest, ...(version !== undefined && { version }) };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(edited));
  for (const name of ['@grpc/proto-loader', '@js-sdsl/ordered-map']) link(root, name);
  const path = join(folder, 'build', 'src', 'index.js');
  const deletions = without.map((name) => `delete exports.experimental.${name};\n`).join('');
  writeFileSync(path, `${readFileSync(path, 'utf8')}\n${withoutGetters(deletions)}`);
  return { path, remove: () => rmSync(root, { recursive: true }) };
}

/** What TypeScript compiles `export * as` to is an ordinary object, whose members may be getters. */
function withoutGetters(deletions: string): string {
  if (deletions === '') return '';
  return `exports.experimental = Object.assign({}, exports.experimental);\n${deletions}`;
}

function link(root: string, name: string): void {
  const target = dirname(require.resolve(`${name}/package.json`, { paths: [HOST] }));
  const path = join(root, 'node_modules', name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}
