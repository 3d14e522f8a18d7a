// The control plane of servers. Answers each message, the listeners to send from now on.
const { ControlPlane, Snapshot } = require('../../dist/control-plane/index.js');
const { serverListener } = require('./resources.cjs');

async function main() {
  const controlPlane = new ControlPlane({});
  const { address } = await controlPlane.start();
  process.on('message', (kinds) => {
    const listeners = kinds.map(({ port, ...kind }) => serverListener(port, kind));
    const snapshot = Snapshot.from({ listeners, routes: [], clusters: [], endpoints: [] });
    controlPlane.setSnapshot(snapshot, { allowInconsistent: true });
    process.send('set');
  });
  process.send({ address });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
