// Compares protos/ with an earlier commit and fails on a change that breaks the wire or JSON format.
//
//   node scripts/buf-breaking.mjs [commit]      the commit defaults to HEAD~1
//
// The earlier files are unpacked from git, so the check needs neither a network nor a full clone.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const commit = process.argv[2] ?? 'HEAD~1';

const exists = (object) =>
  spawnSync('git', ['cat-file', '-e', object], { cwd: root, stdio: 'ignore' }).status === 0;

if (!exists(`${commit}^{commit}`)) {
  console.log(`buf-breaking: there is no commit ${commit} here, nothing to compare with`);
} else if (!exists(`${commit}:protos`) || !exists(`${commit}:buf.yaml`)) {
  console.log(`buf-breaking: commit ${commit} has no protos/, nothing to compare with`);
} else {
  const before = mkdtempSync(join(tmpdir(), 'grpc-xds-breaking-'));
  try {
    const archive = execFileSync('git', ['archive', commit, 'protos', 'buf.yaml'], { cwd: root });
    execFileSync('tar', ['-x', '-C', before], { input: archive });
    const buf = join(root, 'node_modules', '.bin', 'buf');
    const args = ['breaking', '--against', before];
    process.exitCode = spawnSync(buf, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
  } finally {
    rmSync(before, { recursive: true, force: true });
  }
}
