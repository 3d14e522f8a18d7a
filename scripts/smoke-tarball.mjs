// Installs the packed package into an empty folder with what it needs and nothing else, and does there what the readme
// shows: a service without a file, a server for a unit test in three lines, the demo, and the examples; and compiles against
// it. The package is packed in a copy without dist/, as in a fresh clone, by `npm pack` as it is.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { installPackages } from './pack.mjs';
import { packages } from './packages.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-smoke-'));
const command = join(folder, 'node_modules', 'grpc-xds-cli', 'dist', 'main.js');
const children = new Set();

/** Copies what a clone would have, with the packages installed. */
function copySources() {
  const shell = process.platform === 'win32'; // npm is a batch file there
  const copy = join(folder, 'clone');
  const tracked = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const paths = execFileSync('git', tracked, { cwd: root, encoding: 'utf8', shell })
    .trim()
    .split('\n');
  for (const path of paths.filter((each) => existsSync(join(root, each)))) {
    cpSync(join(root, path), join(copy, path));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
  return copy;
}

/** What `npm install <tarball> @grpc/grpc-js` would install. */
function install() {
  installPackages(folder, copySources());
  const own = new Set(packages.map(({ name }) => name));
  const needed = packages.flatMap(({ manifest }) => Object.keys(manifest.dependencies ?? {}));
  for (const name of new Set(['@grpc/grpc-js', ...needed.filter((each) => !own.has(each))])) {
    const path = join(folder, 'node_modules', name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), path, 'junction');
  }
}

function start(args, env = {}) {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  return child;
}

/** The first line of the output that matches. */
async function lineOf(child, pattern) {
  for await (const line of createInterface(child.stdout)) if (pattern.test(line)) return line;
  throw new Error(`ended without a line like ${pattern}`);
}

async function run(args, env) {
  const child = start(args, env);
  let out = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  const [code] = await once(child, 'close');
  assert.equal(code, 0, `${args.join(' ')} printed ${out}`);
  return out.trim();
}

const backend = `
import grpc from '@grpc/grpc-js';
const same = (bytes) => bytes;
export const method = { path: '/echo.Echo/Say', requestStream: false, responseStream: false,
  requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };
export function startBackend(name) {
  const server = new grpc.Server();
  server.addService({ say: method }, { say: (call, callback) => callback(null, Buffer.from(name)) });
  return new Promise((resolve, reject) => server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(),
    (error, port) => error ? reject(error) : resolve({ port, server })));
}
export function call() {
  const client = new grpc.Client('xds:///echo', grpc.credentials.createInsecure());
  return new Promise((resolve) => client.makeUnaryRequest(method.path, same, same, Buffer.alloc(0),
    (error, answer) => { client.close(); resolve(error?.details ?? String(answer)); }));
}
`;

const unitTest = `
import { register, shutdown } from 'grpc-xds';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { call, startBackend } from './backend.mjs';
const { port, server } = await startBackend('three lines');

const snapshot = Snapshot.forServices({ echo: ['127.0.0.1:' + port] });
const controlPlane = new ControlPlane({ snapshot });
register({ bootstrap: (await controlPlane.start()).bootstrap });

console.log(await call());
await shutdown();
await controlPlane.close();
server.forceShutdown();
`;

const served = `
import { execFileSync, spawn } from 'node:child_process';
import { register } from 'grpc-xds';
import { call, startBackend } from './backend.mjs';
const { port, server } = await startBackend('served');
const command = spawn(process.execPath, [process.argv[2], 'serve', '--port', '0', '--service', 'echo=127.0.0.1:' + port]);
const bootstrap = await new Promise((resolve) => {
  let out = '';
  command.stdout.on('data', (chunk) => {
    out += chunk;
    const found = /GRPC_XDS_BOOTSTRAP_CONFIG='(.*)'/.exec(out);
    if (found !== null) resolve(found[1]);
  });
});
register({ bootstrap });
console.log(await call());
command.kill();
server.forceShutdown();
`;

/** Each way to resolve modules that TypeScript has, with the kind of file that it is tried in. */
const RESOLUTIONS = [
  ['node10', { module: 'CommonJS', moduleResolution: 'node10' }, 'ts'],
  ['node16, as CommonJS', { module: 'Node16', moduleResolution: 'node16' }, 'cts'],
  ['node16, as a module', { module: 'Node16', moduleResolution: 'node16' }, 'mts'],
  ['nodenext', { module: 'NodeNext', moduleResolution: 'nodenext' }, 'mts'],
  ['bundler', { module: 'ES2022', moduleResolution: 'bundler' }, 'ts'],
];

/** Something of each entry, with a use of its type. An entry without declarations would be of the type any. */
const typed = `
import { inspect, register, type RegisterOptions } from 'grpc-xds';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { observe, type ObserveOptions } from 'grpc-xds/opentelemetry';
import { OrcaReporter } from 'grpc-xds/orca';
import { watchKubernetes } from 'grpc-xds-kubernetes';
import { serveAdminPage } from 'grpc-xds-page';
import { Relay } from 'grpc-xds-relay';
import { createReloadingServerCredentials } from 'grpc-xds/server';
import { lbPolicyContract } from 'grpc-xds/testing';

type IsAny<T> = 0 extends 1 & T ? true : false;
type Exports = [typeof register, typeof inspect, typeof ControlPlane, typeof Snapshot, typeof observe, typeof OrcaReporter, typeof createReloadingServerCredentials, typeof lbPolicyContract, typeof watchKubernetes, typeof serveAdminPage, typeof Relay];
type AreAny<T> = { [K in keyof T]: IsAny<T[K]> };
export const areAny: AreAny<Exports> = [false, false, false, false, false, false, false, false, false, false, false];
export const options: [RegisterOptions, ObserveOptions] = [{ limits: { maxRingSize: 1 } }, {}];
// @ts-expect-error -- a number is no bootstrap
register({ bootstrap: 1 });
`;

/** Compiles a program against every entry of the package, in each way to resolve modules. */
async function compile() {
  for (const name of ['@opentelemetry/api', '@types/node', 'undici-types']) {
    const path = join(folder, 'node_modules', name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), path, 'junction');
  }
  for (const [name, compilerOptions, extension] of RESOLUTIONS) {
    // The declarations of TypeScript itself take half of the time.
    const target = { target: 'ES2022', skipDefaultLibCheck: true, strict: true, noEmit: true };
    const config = {
      compilerOptions: { ...target, types: ['node'], ...compilerOptions },
      files: [`typed.${extension}`],
    };
    writeFileSync(join(folder, `typed.${extension}`), typed);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    await run([join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]);
    console.log(`compiles against every entry with ${name}`);
  }
}

try {
  install();
  await compile();
  writeFileSync(join(folder, 'backend.mjs'), backend);
  writeFileSync(join(folder, 'unit.mjs'), unitTest);
  writeFileSync(join(folder, 'served.mjs'), served);
  assert.equal(await run(['unit.mjs']), 'three lines');
  assert.equal(await run(['served.mjs', command]), 'served');
  const example = /Example:\s+(\S*examples\S*)/.exec(await run([command, 'check', '--help']))?.[1];
  await run([command, 'check', example]);
  // Its first second shows that everything it needs is there; `npm run matrix` runs the whole.
  const demo = start([command, 'demo']);
  await lineOf(demo, /^ {5}1 +\d/);
  await lineOf(start([command, 'demo', '--page']), /^\d\d:\d\d:\d\dZ All is well/);
  console.log('the packed package does in an empty folder what the readme shows');
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
