// A control plane with many clusters behind a proxy that counts bytes. Answers `change`, which changes one of the
// clusters, and `bytes` with what has gone to and from clients since it was last asked.
const net = require('node:net');
const { ControlPlane, Snapshot } = require('../../dist/control-plane/index.js');
const resources = require('../support/resources.cjs');
const { startBackend } = require('../support/backend.cjs');

const count = Number(process.argv[2]);
const names = Array.from({ length: count }, (_, i) => `cluster-${i}`);
const traffic = { received: 0, sent: 0 };

/** A cluster that connects to nothing before it is called. */
const cluster = (name, maxRequests) =>
  resources.cluster(name, {
    lb_policy: 'RING_HASH',
    circuit_breakers: { thresholds: [{ max_requests: maxRequests }] },
  });

/** Passes everything on to a port, and counts what a client receives and sends. */
function startProxy(port) {
  const server = net.createServer((client) => {
    const upstream = net.connect(port, '127.0.0.1');
    client.on('data', (bytes) => (traffic.sent += bytes.length));
    upstream.on('data', (bytes) => (traffic.received += bytes.length));
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      socket.on('error', () => {
        client.destroy();
        upstream.destroy();
      });
    }
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}

async function main() {
  const { port } = await startBackend();
  const name = 'echo.example.com';
  const routes = names.map((each, i) => ({
    match: i === 0 ? { prefix: '' } : { path: `/demo.Service${i}/Method` },
    route: { cluster: each },
  }));
  let snapshot = Snapshot.from({
    listeners: [resources.listener(name)],
    routes: [resources.routeConfig(name, [...routes.slice(1), routes[0]])],
    clusters: names.map((each) => cluster(each, 1000)),
    endpoints: names.map((each) => resources.endpoints(each, [{ host: '127.0.0.1', port }])),
  });
  const controlPlane = new ControlPlane({ snapshot });
  const { address } = await controlPlane.start();
  const proxyPort = await startProxy(Number(address.slice(address.lastIndexOf(':') + 1)));
  let maxRequests = 1000;
  const answers = {
    change() {
      maxRequests = 3000 - maxRequests;
      snapshot = snapshot.merge({ clusters: [cluster(names[names.length >> 1], maxRequests)] });
      controlPlane.setSnapshot(snapshot);
      return 'sent';
    },
    bytes() {
      const { received, sent } = traffic;
      Object.assign(traffic, { received: 0, sent: 0 });
      return { received, sent };
    },
  };
  process.on('message', (question) => process.send(answers[question]()));
  process.send({ bootstrap: resources.bootstrap(`127.0.0.1:${proxyPort}`) });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
