// What `npm pack` and `npm publish` run first: builds what package.json names, so that the package of a fresh clone is
// complete. For a publication, links in pages become absolute; see repository.mjs.
import { execFileSync } from 'node:child_process';
import { makeLinksAbsolute } from './repository.mjs';

for (const [script, ...options] of [['ensure-installed'], ['ensure-built', 'types']]) {
  execFileSync(process.execPath, [`scripts/${script}.mjs`, ...options], { stdio: 'inherit' });
}
if (process.env.npm_command === 'publish') makeLinksAbsolute();
