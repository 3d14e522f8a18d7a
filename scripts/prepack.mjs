// What `npm pack` and `npm publish` run first, in the folder of a package: builds what package.json names, so that the package of
// a fresh clone is complete. Links in pages lead to the repository; see repository.mjs.
import { execFileSync } from 'node:child_process';
import { root } from './packages.mjs';
import { rewriteLinks } from './repository.mjs';

for (const [script, ...options] of [['ensure-installed'], ['ensure-built', 'types']]) {
  const args = [`scripts/${script}.mjs`, ...options];
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
}
rewriteLinks();
