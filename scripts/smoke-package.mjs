// Loads the built package as users do, by `require` and by named `import`, and checks that both get the same
// module, and that loading it has no effect on grpc-js until `register()` is called.
import * as nodeModule from 'node:module';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { register, shutdown, XdsError } from 'grpc-xds';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { createMetricProducer, observe } from 'grpc-xds/opentelemetry';
import { OrcaReporter } from 'grpc-xds/orca';
import { peerIdentity } from 'grpc-xds/server';
import { lbPolicyContract } from 'grpc-xds/testing';

const { createRequire, enableCompileCache } = nodeModule;
const require = createRequire(import.meta.url);
const grpc = require('@grpc/grpc-js');
const required = require('grpc-xds');

assert.equal(required.register, register);
assert.equal(require('grpc-xds/schemas/bootstrap.json').title, 'xDS bootstrap');
assert.equal(require('grpc-xds/control-plane').ControlPlane, ControlPlane);
assert.equal(typeof Snapshot.from, 'function');
assert.equal(require('grpc-xds/opentelemetry').observe, observe);
assert.equal(require('grpc-xds/orca').OrcaReporter, OrcaReporter);
assert.equal(require('grpc-xds/server').peerIdentity, peerIdentity);
assert.equal(require('grpc-xds/testing').lbPolicyContract, lbPolicyContract);

delete process.env.GRPC_XDS_BOOTSTRAP;
delete process.env.GRPC_XDS_BOOTSTRAP_CONFIG;

/** Why a call to an `xds:` target fails in a process without a bootstrap. */
const failure = () =>
  new Promise((resolve) => {
    const client = new grpc.Client('xds:///smoke', grpc.credentials.createInsecure());
    const same = (bytes) => bytes;
    client.makeUnaryRequest('/a.B/C', same, same, Buffer.alloc(0), (error) => {
      client.close();
      resolve(error.details);
    });
  });

const isLoaded = (name) => Object.keys(require.cache).some((path) => path.includes(name));

assert.doesNotMatch(await failure(), /bootstrap/);
register();
// Whoever registers and opens no channel does not wait for the code behind one.
assert.ok(!isLoaded('xds-runtime'));
assert.match(await failure(), /xDS bootstrap is missing/);
assert.ok(isLoaded('xds-runtime'));

// What only some bootstraps need is loaded when one of them is read, and is in the package.
grpc.setLogVerbosity(grpc.logVerbosity.NONE);
assert.ok(!isLoaded('file-transport') && !isLoaded('rest-transport'));
await shutdown();
register({ bootstrap: { xds_servers: [{ server_uri: 'file:///nowhere/smoke.yaml' }] } });
assert.match(await failure(), /\/nowhere\/smoke\.yaml: cannot be read/);
assert.ok(isLoaded('file-transport') && !isLoaded('rest-transport'));
await shutdown();
register({ bootstrap: { xds_servers: [{ server_uri: 'http://127.0.0.1:9' }] } });
assert.match(await failure(), /cannot be reached: .*127\.0\.0\.1:9/);
assert.ok(isLoaded('rest-transport'));

// Another entry observes the channels of the first one. Metrics alone need no package of OpenTelemetry.
const metricProducer = createMetricProducer();
observe({ metricProducer });
await failure();
const { resourceMetrics } = await metricProducer.collect();
const [{ metrics }] = resourceMetrics.scopeMetrics;
assert.ok(metrics.some(({ descriptor }) => descriptor.name === 'grpc.client.call.duration'));
assert.ok(!isLoaded('@opentelemetry'));

// The library loads nothing of its companions, and they use this copy of it.
const isCompanion = (path) => /[\\/]packages[\\/]|[\\/]grpc-xds-/.test(path);
assert.deepEqual(Object.keys(require.cache).filter(isCompanion), []);
const { serveAdminPage } = await import('grpc-xds-page');
assert.equal(require('grpc-xds-page').serveAdminPage, serveAdminPage);
const page = await serveAdminPage({ port: 0 });
const text = await (await fetch(page.url)).text();
assert.match(text, /<title>grpc-xds<\/title>/);
await page.close();
const { Relay } = await import('grpc-xds-relay');
assert.equal(require('grpc-xds-relay').Relay, Relay);
assert.equal(require('grpc-xds-cli/schemas/resources.json').title, 'xDS resources');
assert.equal(require('grpc-xds-cli/schemas/fields.json').title, 'Fields of xDS resources');
const { watchKubernetes } = await import('grpc-xds-kubernetes');
assert.equal(require('grpc-xds-kubernetes').watchKubernetes, watchKubernetes);

// What they throw is of the class of this copy, too.
const wrong = { unknown: 1 };
for (const call of [
  () => serveAdminPage(wrong),
  () => new Relay(wrong),
  () => watchKubernetes(wrong),
]) {
  const isRefusal = (error) => error instanceof XdsError && error.code === 'XDS_OPTION_INVALID';
  await assert.rejects(async () => void (await call()), isRefusal);
}

/** Runs this script with the compile cache of Node.js. @returns what Node.js says about the cache. */
const runWithCache = (folder) => {
  const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(import.meta.url)], {
    env: { ...process.env, NODE_COMPILE_CACHE: folder, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  });
  assert.equal(status, 0, stderr);
  return stderr;
};

// What one process has compiled, the next one takes over; it does the same with it.
if (enableCompileCache === undefined) {
  console.log(`the compile cache is not tested: Node.js ${process.version} has none`);
} else if (process.env.NODE_COMPILE_CACHE === undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-cache-'));
  runWithCache(folder);
  assert.match(runWithCache(folder), /cache for \S*common\.js was accepted/);
  rmSync(folder, { recursive: true });
}

console.log('require and import give the same package; register() makes xds: targets work');
