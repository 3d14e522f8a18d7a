// Runs the check of every example, and prints a table. An example with a package.json is an application of its own: its
// packages are installed by its lock file, and this package as it would be published.
//
//   npm run examples              all
//   npm run examples -- nest      only those whose name contains it
//
// What an example has not checked, because a program is missing, is listed below the table; with CI=true it fails.
// Each finds the service xds:///echo, with the backends backend-1 and backend-2, by GRPC_XDS_BOOTSTRAP_CONFIG.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { installPackage } from '../scripts/pack.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const TIMEOUT_MS = 300_000;
/** Where it is set, what an example cannot check is installed, or fails. */
const CI = process.env.CI === undefined ? {} : { CI: process.env.CI };

function startBackend(name) {
  const { echo } = grpc.loadPackageDefinition(
    protoLoader.loadSync(join(here, 'echo', 'echo.proto')),
  );
  const server = new grpc.Server();
  server.addService(echo.Echo.service, {
    say: (_call, callback) => callback(null, { backend: name }),
  });
  return new Promise((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error ? reject(error) : resolve({ address: `127.0.0.1:${port}`, server }),
    );
  });
}

/** Runs a program to its end, and returns its exit code with everything that it printed. */
function run(args, env, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd,
      // Without the variables of npm, which an application does not have.
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...CI, ...env },
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => (output += chunk));
    }
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
    // What an example has left behind may keep the pipes open.
    child.once('exit', (code) => setTimeout(() => resolve({ code, output }), 2000).unref());
  });
}

async function install(folder) {
  const script = join(here, '..', 'scripts', 'ensure-installed.mjs');
  const { code, output } = await run([script, join('examples', folder)], process.env);
  if (code !== 0) return { code, output };
  installPackage(join(here, folder));
  return undefined;
}

async function check(folder, env) {
  const isApplication = existsSync(join(here, folder, 'package.json'));
  const failure = isApplication ? await install(folder) : undefined;
  return failure ?? run([join(here, folder, 'check.mjs')], env, join(here, folder));
}

async function main() {
  const names = process.argv.slice(2);
  const folders = readdirSync(here)
    .filter((folder) => existsSync(join(here, folder, 'check.mjs')))
    .filter((folder) => names.length === 0 || names.some((name) => folder.includes(name)));
  const backends = [await startBackend('backend-1'), await startBackend('backend-2')];
  const snapshot = Snapshot.forServices({ echo: backends.map(({ address }) => address) });
  const controlPlane = new ControlPlane({ snapshot });
  const { bootstrap } = await controlPlane.start();
  const env = { GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) };
  const failures = [];
  const skipped = [];
  console.log(`${'example'.padEnd(18)}result    time`);
  for (const folder of folders) {
    const startedAt = performance.now();
    const { code, output } = await check(folder, env);
    const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
    console.log(`${folder.padEnd(18)}${(code === 0 ? 'ok' : 'FAILED').padEnd(10)}${seconds}`);
    for (const [, what] of output.matchAll(/^skip\s+(.+)$/gm)) {
      skipped.push(`${folder}: ${what.replace(/\s{2,}/g, ': ')}`);
    }
    if (code !== 0) failures.push(`${folder} ended with ${code}:\n${output}`);
  }
  await controlPlane.close({ force: true });
  for (const { server } of backends) server.forceShutdown();
  for (const line of skipped) console.log(`skipped: ${line}`);
  for (const failure of failures) console.log(`\n---- ${failure}`);
  process.exitCode = failures.length === 0 && folders.length > 0 ? 0 : 1;
}

await main();
