// A server that the control plane configures. Says first which port it has; answers `serve` when it serves, `begin` when it measures,
// `read` with what it took since then, and `rejections` with how many Listeners it rejected.
const { subscribe } = require('node:diagnostics_channel');
const { createServer } = require('node:net');
const grpc = require('@grpc/grpc-js');
const { register } = require('../../dist/index.js');
const { XdsServer, XdsServerCredentials } = require('../../dist/server/index.js');
const { echoService } = require('../support/echo-service.cjs');
const { begin, read } = require('./measured.cjs');

// Its log has what the cases cause.
register({ logger: { log: () => undefined } });
process.env.GRPC_XDS_BOOTSTRAP = process.argv[2];

let rejections = 0;
subscribe('grpc-xds:resource-nacked', () => rejections++);

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
