// Runs `npm run generate` and fails when that changes a file: what is committed is then not what protos/, the parsers and the
// generators give. The new files stay in place, ready to be committed.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folders = ['packages/cli/schemas', 'packages/page/src/generated', 'src/wire/generated'];
const files = ['docs/reference/fields.md', 'docs/reference/istio.md'];

const listFiles = (folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const readAll = () =>
  new Map(
    [...folders.flatMap(listFiles), ...files.map((file) => join(root, file))].map((path) => [
      path,
      readFileSync(path, 'utf8'),
    ]),
  );

const before = readAll();
for (const name of ['generate.mjs', 'schemas.mjs', 'fields.mjs']) {
  const script = join(root, 'scripts', name);
  const { status } = spawnSync(process.execPath, [script], { cwd: root, stdio: 'inherit' });
  if (status !== 0) {
    console.error(`check-generated: ${name} failed`);
    process.exit(1);
  }
}
const after = readAll();
const changed = [...new Set([...before.keys(), ...after.keys()])]
  .filter((path) => before.get(path) !== after.get(path))
  .sort();
for (const path of changed) {
  const what = !after.has(path) ? 'removed' : before.has(path) ? 'changed' : 'added';
  console.error(`check-generated: ${what} ${path.slice(root.length + 1)}`);
}
if (changed.length > 0) {
  console.error('check-generated: files are not up to date; commit what is there now');
  process.exitCode = 1;
}
