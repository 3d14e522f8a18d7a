// The control plane of this package with many clusters, of which `update` changes one. Arguments: their number.
const { ControlPlane, Snapshot } = require('../../dist/control-plane');
const { cluster, endpoints, listener, routes, TYPES } = require('../support/encode.cjs');

const count = Number(process.argv[2]);
const SERVICE = 'bench';
const ENDPOINTS = 5;
const names = Array.from({ length: count }, (_, i) => `cluster-${i}`);
const changed = names[count >> 1];

const resource = (letter, name, value) => ({ typeUrl: TYPES[letter], name, value });
const routeOf = (name) => ({ match: { path: `/${name}/Method` }, route: { cluster: name } });
/** Its clients connect to no endpoint until there is a call. */
const clusterOf = (name, maxRequests) => {
  const circuit_breakers = { thresholds: [{ max_requests: { value: maxRequests } }] };
  return resource('C', name, cluster(name, 'RING_HASH', { circuit_breakers }));
};
const MAX_REQUESTS = 1000;
const resources = [
  resource('L', SERVICE, listener(SERVICE)),
  resource('R', `${SERVICE}-routes`, routes(SERVICE, names.map(routeOf))),
  ...names.map((name) => clusterOf(name, MAX_REQUESTS)),
  ...names.map((name) => resource('E', name, endpoints(name, ENDPOINTS, 1))),
];

let version = 0;
let snapshot = Snapshot.from({ resources });
const update = () => {
  version++;
  snapshot = snapshot.merge({ resources: [clusterOf(changed, MAX_REQUESTS + version)] });
  return snapshot;
};

async function main() {
  const controlPlane = new ControlPlane();
  controlPlane.setSnapshot(snapshot);
  const { address } = await controlPlane.start();
  process.on('message', () => {
    const next = update();
    // The monotonic clock of the machine, which all processes share.
    const sentAt = Number(process.hrtime.bigint()) / 1e6;
    controlPlane.setSnapshot(next);
    process.send({ sentAt });
  });
  const bytes = resources.reduce((sum, { value }) => sum + value.length, 0);
  process.send({ address, names, pid: process.pid, bytes });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
