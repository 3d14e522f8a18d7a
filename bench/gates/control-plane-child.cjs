// A control plane of the build in a folder: its address, then a new snapshot for each question.
const { join } = require('node:path');

const { ControlPlane, Snapshot } = require(join(process.argv[2], 'dist/control-plane'));

const controlPlane = new ControlPlane({ snapshot: Snapshot.forServices({}) });
process.on('message', (services) => {
  controlPlane.setSnapshot(Snapshot.forServices(services));
  process.send('set');
});
controlPlane.start().then(({ bootstrap }) => process.send(bootstrap));
