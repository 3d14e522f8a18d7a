// A client of 1,000 clusters with 10 endpoints each, which serves the live page. Answers each message with the CPU time since the
// one before, in milliseconds, and makes calls from the first one with `calls` on.
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { pathToFileURL } = require('node:url');
const grpc = require('@grpc/grpc-js');
const { inspect, register } = require('../../dist/index.js');
const { serveAdminPage } = require('../../packages/page/dist/index.js');
const resources = require('../support/resources.cjs');

const SERVICE = 'large.example.com';
const CLUSTERS = 1000;
const ENDPOINTS = 10;
/** The time between two calls. Each fails: nothing listens at the endpoints. */
const CALL_MS = 100;

function createResources() {
  const names = Array.from({ length: CLUSTERS }, (_, i) => `cluster-${i}`);
  const clusters = names.map((name) => ({ name, weight: 1 }));
  return {
    listeners: [resources.listener(SERVICE)],
    routes: [
      resources.routeConfig(SERVICE, [
        { match: { prefix: '' }, route: { weighted_clusters: { clusters } } },
      ]),
    ],
    // Endpoints that no call needs are not connected to.
    clusters: names.map((name) => ({ ...resources.cluster(name), lb_policy: 'RING_HASH' })),
    endpoints: names.map((name, index) =>
      resources.endpoints(
        name,
        Array.from({ length: ENDPOINTS }, (_, i) => ({
          host: `127.1.${index >> 8}.${index & 255}`,
          port: 10_000 + i,
        })),
      ),
    ),
  };
}

const hasConfig = (target) =>
  inspect({ target }).targets.some(({ state, config }) => {
    return state === 'ready' && config?.clusters.length === CLUSTERS;
  });

function call(client) {
  const toBytes = () => Buffer.alloc(0);
  client.makeUnaryRequest('/bench.Echo/Call', toBytes, toBytes, {}, () => {});
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
  const file = join(folder, 'resources.json');
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.on('SIGTERM', () => process.exit());
  writeFileSync(file, JSON.stringify(createResources()));
  register({ bootstrap: { xds_servers: [{ server_uri: pathToFileURL(file).href }] } });
  const target = `xds:///${SERVICE}`;
  const client = new grpc.Client(target, grpc.credentials.createInsecure());
  client.getChannel().getConnectivityState(true);
  while (!hasConfig(target)) await sleep(50);
  const { url } = await serveAdminPage({ port: 0 });
  let before = process.cpuUsage();
  process.on('message', ({ calls }) => {
    if (calls === true) setInterval(() => call(client), CALL_MS);
    const now = process.cpuUsage();
    process.send({ cpuMs: (now.user + now.system - before.user - before.system) / 1000 });
    before = now;
  });
  process.send({ url, target });
}

main();
