// Removes what a build writes.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { packages, root } from './packages.mjs';

for (const folder of ['build', ...packages.map((each) => join(each.folder, 'dist'))]) {
  rmSync(join(root, folder), { recursive: true, force: true });
}
