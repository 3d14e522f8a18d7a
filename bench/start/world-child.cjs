// Runs a backend and a control plane that sends `echo.example.com` to it, until told to stop.
const { ControlPlane, Snapshot } = require('../../dist/control-plane/index.js');
const { startBackend } = require('../support/backend.cjs');
const resources = require('../support/resources.cjs');

async function main() {
  const backend = await startBackend();
  const name = 'echo.example.com';
  const route = { match: { prefix: '' }, route: { cluster: 'echo' } };
  const snapshot = Snapshot.from({
    listeners: [resources.listener(name)],
    routes: [resources.routeConfig(name, [route])],
    clusters: [resources.cluster('echo')],
    endpoints: [resources.endpoints('echo', [backend])],
  });
  const controlPlane = new ControlPlane({ snapshot });
  const { address } = await controlPlane.start();
  process.send({
    backendAddress: `${backend.host}:${backend.port}`,
    bootstrap: resources.bootstrap(address),
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
