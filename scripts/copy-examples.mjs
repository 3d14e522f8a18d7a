// Copies what the command line runs and names of examples/ into its build.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './packages.mjs';

for (const path of ['examples/demo', 'examples/echo.yaml']) {
  cpSync(join(root, path), join(root, 'packages/cli/dist', path), { recursive: true });
}
