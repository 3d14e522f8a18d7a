// What `npm pack` and `npm publish` run first, in the folder of a package: builds what package.json names, so that the package of
// a fresh clone is complete. For a publication, links in pages become absolute; see repository.mjs.
import { execFileSync } from 'node:child_process';
import { root } from './packages.mjs';
import { makeLinksAbsolute } from './repository.mjs';

for (const [script, ...options] of [['ensure-installed'], ['ensure-built', 'types']]) {
  const args = [`scripts/${script}.mjs`, ...options];
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
}
if (process.env.npm_command === 'publish') makeLinksAbsolute();
