// A server that the control plane configures. Says first which port it has; answers `serve` when it serves, `begin` when it measures,
// `read` with what it took since then, and `rejections` with how many Listeners it rejected.
const { subscribe } = require('node:diagnostics_channel');
const { createServer } = require('node:net');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const grpc = require('@grpc/grpc-js');
const { register } = require('../../dist/index.js');
const { XdsServer, XdsServerCredentials } = require('../../dist/server/index.js');
const { echoService } = require('../support/echo-service.cjs');

const RESOLUTION_MS = 5;
const MEMORY_MS = 20;
const MIB = 2 ** 20;

// Its log has what the cases cause.
register({ logger: { log: () => undefined } });
process.env.GRPC_XDS_BOOTSTRAP = process.argv[2];

let rejections = 0;
subscribe('grpc-xds:resource-nacked', () => rejections++);

const usedMiB = () => {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MIB;
};

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let peakMiB = 0;
let baseMiB = 0;
let cpu;

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

function serve(port) {
  const server = new XdsServer();
  server.addService(echoService, { say: (call, callback) => callback(null, call.request) });
  const credentials = new XdsServerCredentials(grpc.ServerCredentials.createInsecure());
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error) =>
      error ? reject(error) : resolve('serving'),
    );
  });
}

function begin() {
  global.gc();
  baseMiB = peakMiB = usedMiB();
  setInterval(() => (peakMiB = Math.max(peakMiB, usedMiB())), MEMORY_MS);
  delay.enable();
  cpu = process.cpuUsage();
  return 'begun';
}

function read() {
  const { user, system } = process.cpuUsage(cpu);
  const pauseMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
  delay.disable();
  global.gc();
  return {
    ...{ pauseMs, cpuMs: (user + system) / 1000 },
    ...{ addedMiB: peakMiB - baseMiB, keptMiB: usedMiB() - baseMiB },
  };
}

async function main() {
  const port = await freePort();
  const answers = { serve: () => serve(port), begin, read, rejections: () => rejections };
  process.on('message', async (question) => process.send(await answers[question]()));
  process.send(port);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
