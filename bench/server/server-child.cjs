// Servers of one process: plain ones of grpc-js, and those of a library, configured by the control plane. Says first which ports
// they are to have; answers `serve` when all of them serve, `cpu` with the CPU time of the process so far in microseconds, and
// `memory` with the bytes in use after a collection.
const { readFileSync } = require('node:fs');
const { createServer } = require('node:net');
const grpc = require('@grpc/grpc-js');
const { echoService } = require('../support/echo-service.cjs');

const { library, kinds, files } = JSON.parse(process.argv[2]);

const handlers = { say: (call, callback) => callback(null, call.request) };

/** Passes everything on: what any interceptor costs, as grpc-js has them. */
const passOn = (_method, call) => new grpc.ServerInterceptingCall(call);

const plainServers = {
  plain: () => new grpc.Server(),
  'plain, no-op interceptor': () => new grpc.Server({ interceptors: [passOn] }),
};

function plainCredentials(tls) {
  if (!tls) return grpc.ServerCredentials.createInsecure();
  const [roots, private_key, cert_chain] = [
    files.root,
    files.server.key,
    files.server.certificate,
  ].map((path) => readFileSync(path));
  return grpc.ServerCredentials.createSsl(roots, [{ private_key, cert_chain }], true);
}

/** By library, what creates a server and its credentials. */
const libraries = {
  'grpc-xds'() {
    const { XdsServer, XdsServerCredentials } = require('../../dist/server/index.js');
    return { create: () => new XdsServer(), XdsServerCredentials };
  },
  '@grpc/grpc-js-xds'() {
    const { register, XdsServer, XdsServerCredentials } = require('@grpc/grpc-js-xds');
    register();
    return { create: () => new XdsServer(), XdsServerCredentials };
  },
};

const loaded = {};
function create({ server: name, tls }) {
  const plain = plainServers[name];
  if (plain !== undefined) return { server: plain(), credentials: plainCredentials(tls) };
  const { create: createServerOf, XdsServerCredentials } = (loaded[name] ??= libraries[name]());
  const fallback = grpc.ServerCredentials.createInsecure();
  return { server: createServerOf(), credentials: new XdsServerCredentials(fallback) };
}

/** Returns ports that nothing uses, all different. */
async function freePorts(count) {
  const probes = Array.from({ length: count }, () => createServer());
  const ports = [];
  for (const probe of probes) {
    await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
    ports.push(probe.address().port);
  }
  for (const probe of probes) await new Promise((resolve) => probe.close(resolve));
  return ports;
}

function serve(kind, port) {
  const { server, credentials } = create({ server: kind.plain ?? library, tls: kind.tls });
  server.addService(echoService, handlers);
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error) =>
      error ? reject(error) : resolve(),
    );
  });
}

const answers = {
  cpu() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  memory() {
    for (let i = 0; i < 3; i++) global.gc();
    const { rss, heapUsed, external } = process.memoryUsage();
    return { rss, heap: heapUsed + external };
  },
};

async function main() {
  const ports = await freePorts(kinds.length);
  process.on('message', async (question) => {
    if (question !== 'serve') {
      process.send(answers[question]());
      return;
    }
    await Promise.all(kinds.map((kind, i) => serve(kind, ports[i]))).catch(fail);
    process.send('serving');
  });
  process.send(ports);
}

function fail(error) {
  console.error(library, error.message);
  process.exit(1);
}

main().catch(fail);
