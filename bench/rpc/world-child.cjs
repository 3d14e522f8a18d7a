// Four backends, and a control plane that sends two services to them: one with a single route, one with 1,000.
const { ControlPlane, Snapshot } = require('../../dist/control-plane/index.js');
const { startBackend } = require('../support/backend.cjs');
const resources = require('../support/resources.cjs');

const ROUTES = 1000;

function manyRoutes() {
  const routes = [];
  for (let i = 0; i < ROUTES - 1; i++) {
    routes.push({ match: { path: `/demo.Service${i}/Method` }, route: { cluster: 'echo' } });
  }
  return [...routes, { match: { path: '/demo.Echo/Say' }, route: { cluster: 'echo' } }];
}

async function main() {
  const backends = await Promise.all([
    startBackend(),
    startBackend(),
    startBackend(),
    startBackend(),
  ]);
  const one = [{ match: { prefix: '' }, route: { cluster: 'echo' } }];
  const snapshot = Snapshot.from({
    listeners: [resources.listener('one.example.com'), resources.listener('many.example.com')],
    routes: [
      resources.routeConfig('one.example.com', one),
      resources.routeConfig('many.example.com', manyRoutes()),
    ],
    clusters: [resources.cluster('echo')],
    endpoints: [resources.endpoints('echo', backends)],
  });
  const controlPlane = new ControlPlane({ snapshot });
  const { address } = await controlPlane.start();
  process.send({
    addresses: backends.map(({ host, port }) => `${host}:${port}`),
    bootstrap: resources.bootstrap(address),
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
