// A control plane with clusters of many endpoints, all of them one backend under many loopback addresses. Each
// `change` replaces one endpoint of one cluster by another. Answers `connections` with how many there are to the backend,
// and how many there have been.
const { ControlPlane, Snapshot, endpointKind } = require('../../dist/control-plane/index.js');
const resources = require('../support/resources.cjs');
const { startBackend } = require('../support/backend.cjs');

const [clusters, endpointsPerCluster, lbPolicy] = process.argv.slice(2);
const clusterNames = Array.from({ length: Number(clusters) }, (_, i) => `cluster-${i}`);

// Written with fixed lengths, so that one can be exchanged for another in the encoded resource.
const addressOf = (i) => `127.${100 + (i >> 14)}.${100 + ((i >> 7) & 127)}.${100 + (i & 127)}`;
const [REPLACED, REPLACEMENT] = ['127.250.199.198', '127.250.199.199'];

function assignment(cluster, first, port) {
  const hosts = Array.from({ length: Number(endpointsPerCluster) - 1 }, (_, i) =>
    addressOf(first + i),
  );
  // In the middle, where nothing is cheap by chance.
  hosts.splice(hosts.length >> 1, 0, REPLACED);
  return resources.endpoints(
    cluster,
    hosts.map((host) => ({ host, port })),
  );
}

/** Exchanges the address in the encoded resource, wherever it is. */
function exchange(value, from, to) {
  const bytes = Buffer.from(value);
  bytes.write(to, bytes.indexOf(from), 'latin1');
  return bytes;
}

async function main() {
  const { port, connections } = await startBackend();
  const routes = clusterNames.map((cluster, i) => ({
    match: i === 0 ? { prefix: '' } : { path: `/demo.Service${i}/Method` },
    route: { cluster },
  }));
  const name = 'echo.example.com';
  let snapshot = Snapshot.from({
    listeners: [resources.listener(name)],
    routes: [resources.routeConfig(name, [...routes.slice(1), routes[0]])],
    clusters: clusterNames.map((cluster) => resources.cluster(cluster, { lb_policy: lbPolicy })),
    endpoints: clusterNames.map((cluster, i) =>
      assignment(cluster, i * Number(endpointsPerCluster), port),
    ),
  });
  const controlPlane = new ControlPlane({ snapshot });
  const { address } = await controlPlane.start();
  const [changed] = clusterNames;
  let [from, to] = [REPLACED, REPLACEMENT];
  process.on('message', (question) => {
    if (question === 'connections') {
      process.send(connections);
      return;
    }
    const value = exchange(snapshot.get(endpointKind, changed).value, from, to);
    [from, to] = [to, from];
    snapshot = snapshot.merge({
      endpoints: [{ typeUrl: endpointKind.typeUrl, value, name: changed }],
    });
    controlPlane.setSnapshot(snapshot);
    process.send('sent');
  });
  process.send({ bootstrap: resources.bootstrap(address) });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
