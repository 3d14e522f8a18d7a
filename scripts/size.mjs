// Compares the sizes of the packages with etc/size.json: what is published of each, and the code of the library that a process
// loads. It fails when something has grown by more than 5 %, so that growth is decided and not found out later.
//
//   npm run check -- size           compares
//   npm run update -- size                 writes the file
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { companions, library, root } from './packages.mjs';

const TOLERANCE = 0.05;
/** What a package may be at most, whatever the file says. */
const LIMITS = {
  package: { files: 135, bytes: 2_250_000 },
  'grpc-xds-cli': { files: 40, compressedBytes: 250_000 },
  'grpc-xds-kubernetes': { files: 20, compressedBytes: 130_000 },
  'grpc-xds-page': { files: 20, compressedBytes: 130_000 },
  'grpc-xds-relay': { files: 20, compressedBytes: 80_000 },
};

const recordPath = join(root, 'etc', 'size.json');
const require = createRequire(import.meta.url);
const grpc = require('@grpc/grpc-js');

/** What `npm pack` would publish. */
function measurePackage({ folder }) {
  const shell = process.platform === 'win32'; // npm is a batch file there
  const args = ['pack', '--dry-run', '--json', '--silent', '--ignore-scripts'];
  const output = execFileSync('npm', args, { cwd: join(root, folder), encoding: 'utf8', shell });
  const [{ entryCount, unpackedSize, size }] = JSON.parse(output);
  return { files: entryCount, bytes: unpackedSize, compressedBytes: size };
}

/** The files of the build that this process has loaded. */
function measureLoaded() {
  const dist = join(root, 'dist') + sep;
  const paths = Object.keys(require.cache).filter((path) => path.startsWith(dist));
  return { files: paths.length, bytes: paths.reduce((sum, path) => sum + statSync(path).size, 0) };
}

/** Makes a call that fails, with a management server that nobody can reach. */
function failingCall() {
  const client = new grpc.Client('xds:///size', grpc.credentials.createInsecure());
  const same = (bytes) => bytes;
  return new Promise((resolve) => {
    client.makeUnaryRequest('/a.B/C', same, same, Buffer.alloc(0), () => resolve(client.close()));
  });
}

async function measure() {
  grpc.setLogVerbosity(grpc.logVerbosity.NONE);
  const { register } = require('../dist/index.js');
  const server = { server_uri: '127.0.0.1:9', channel_creds: [{ type: 'insecure' }] };
  register({ bootstrap: { xds_servers: [server], node: { id: 'size' } } });
  const registered = measureLoaded();
  await failingCall();
  return {
    package: measurePackage(library),
    register: registered,
    firstChannel: measureLoaded(),
    ...Object.fromEntries(companions.map((each) => [each.name, measurePackage(each)])),
  };
}

/** One row for each figure. */
function compare(recorded, actual) {
  return Object.entries(actual).flatMap(([part, figures]) =>
    Object.entries(figures).map(([figure, now]) => {
      const before = recorded[part]?.[figure] ?? 0;
      const limit = LIMITS[part]?.[figure] ?? Infinity;
      const isTooLarge = now > before * (1 + TOLERANCE) || now > limit;
      return { part, figure, recorded: before, now, verdict: isTooLarge ? 'TOO LARGE' : 'ok' };
    }),
  );
}

const actual = await measure();
// The file has the limits of `npm run bench -- gates` too.
const recorded = JSON.parse(readFileSync(recordPath, 'utf8'));
if (process.argv.includes('--update')) {
  writeFileSync(recordPath, `${JSON.stringify({ ...recorded, ...actual }, null, 2)}\n`);
} else {
  const rows = compare(recorded, actual);
  console.table(rows);
  const isTooLarge = rows.some(({ verdict }) => verdict !== 'ok');
  if (isTooLarge)
    console.log('If it is worth that, run `npm run update -- size` and commit etc/size.json.');
  process.exitCode = isTooLarge ? 1 : 0;
}
