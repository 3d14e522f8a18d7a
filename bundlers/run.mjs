// Bundles an application with every bundler, runs each bundle, and prints a table. Each application registers, and makes
// calls to xds: targets with a management server over gRPC and one in a file; see app/main.mjs.
//
//   npm run bundlers               all bundles
//   npm run bundlers -- esbuild    only those of the bundlers whose name contains it
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installPackage } from '../scripts/pack.mjs';
import { bundles, versionOf } from './bundles.mjs';
import { makeExecutable } from './single-executable.mjs';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..');
const input = join(here, 'app', 'main.mjs');
const RUN_TIMEOUT_MS = 60_000;

/** Runs a program to its own end. @throws Error with what it printed, unless it printed "ok". */
async function runToEnd(program, args) {
  // Without the variables of npm and of tests, which a user has not set.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  const { stdout, stderr } = await run(program, args, { env, timeout: RUN_TIMEOUT_MS });
  if (stdout.trim() !== 'ok' || stderr !== '') throw new Error(`printed ${stdout}${stderr}`);
}

/** A folder for one bundle: with an external grpc-js one from which that is found. */
function outputFolder(folder, { host }, index) {
  const parent = host === 'external' ? join(here, 'dist') : folder;
  const path = join(parent, String(index));
  mkdirSync(path, { recursive: true });
  return path;
}

async function tryBundle(entry, folder, index) {
  const output = join(
    outputFolder(folder, entry, index),
    entry.format === 'esm' ? 'app.mjs' : 'app.cjs',
  );
  await entry.bundle({ ...entry, input, output });
  await runToEnd(process.execPath, [output]);
  return statSync(output).size;
}

async function tryExecutable(folder) {
  const [{ bundle }] = bundles;
  const place = join(folder, 'executable');
  mkdirSync(place);
  const output = join(place, 'app.cjs');
  await bundle({ input, output, format: 'cjs', external: [] });
  await runToEnd(await makeExecutable(output, place), []);
  return statSync(output).size;
}

/** The package next to a grpc-js of the last minor version that it cannot use. */
async function tryOldHost(folder) {
  const modules = join(folder, 'old', 'node_modules');
  cpSync(join(here, 'node_modules', 'grpc-xds'), join(modules, 'grpc-xds'), { recursive: true });
  const host = join(modules, '@grpc', 'grpc-js');
  cpSync(join(here, 'node_modules', 'grpc-js-1-13'), host, { recursive: true });
  for (const name of ['@grpc/proto-loader', '@js-sdsl/ordered-map', '@bufbuild/protobuf']) {
    const own = join(here, 'node_modules', name);
    const from = existsSync(own) ? own : join(root, 'node_modules', name);
    cpSync(from, join(modules, name), { recursive: true, dereference: true });
  }
  const code = `
    const wanted = /needs @grpc\\/grpc-js ~1\\.14\\.0, and found 1\\.13\\.\\d+ /;
    try { require('grpc-xds').register(); console.log('registered'); }
    catch (error) { console.log(wanted.test(error.message) ? 'ok' : error); }`;
  const { stdout } = await run(process.execPath, ['-e', code], { cwd: join(folder, 'old') });
  if (stdout.trim() !== 'ok') throw new Error(stdout);
}

function selectRows(folder) {
  const node = process.version;
  const rows = bundles.map((entry, index) => ({
    ...entry,
    version: versionOf(entry.bundler),
    attempt: () => tryBundle(entry, folder, index),
  }));
  rows.unshift({
    bundler: 'none',
    version: node,
    format: 'esm',
    host: 'external',
    attempt: () => runToEnd(process.execPath, [input]),
  });
  rows.push(
    {
      bundler: 'single executable',
      version: node,
      format: 'cjs',
      host: 'bundled',
      attempt: () => tryExecutable(folder),
    },
    {
      bundler: 'none: register() throws',
      version: node,
      format: 'cjs',
      host: versionOf('grpc-js-1-13'),
      attempt: () => tryOldHost(folder),
    },
  );
  const names = process.argv.slice(2);
  return rows.filter(({ bundler }) => names.length === 0 || names.some((n) => bundler.includes(n)));
}

/** Runs the task for every row, two at a time. */
async function forEachTwoAtATime(rows, task) {
  const rest = [...rows];
  const work = async () => {
    for (let row = rest.shift(); row !== undefined; row = rest.shift()) await task(row);
  };
  await Promise.all([work(), work()]);
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bundlers-'));
  const failures = [];
  try {
    installPackage(here);
    const columns = (cells) =>
      cells.map((cell, i) => String(cell).padEnd([25, 10, 8, 10, 8, 10][i] ?? 0)).join('');
    console.log(columns(['bundler', 'version', 'format', 'grpc-js', 'result', 'size', 'time']));
    await forEachTwoAtATime(selectRows(folder), async (row) => {
      const { bundler, version, format, host, attempt } = row;
      const startedAt = performance.now();
      const result = await attempt().then(
        (bytes) => ['ok', bytes === undefined ? '-' : `${Math.round(bytes / 1024)} KiB`],
        (error) => {
          failures.push(`${bundler} ${format} ${host}: ${error.stack}`);
          return ['FAILED', '-'];
        },
      );
      const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
      console.log(columns([bundler, version, format, host, ...result, seconds]));
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(join(here, 'dist'), { recursive: true, force: true });
  }
  for (const failure of failures) console.log(`\n---- ${failure}`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}

void main();
