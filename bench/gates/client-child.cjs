// A client of the build in a folder, which counts what runs: `first` for its first call, `steady` for an update of endpoints and a
// call later. Tells its parent what to publish, and then the counts.
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { promisify } = require('node:util');
const grpc = require('@grpc/grpc-js');
const { startBackend } = require('../support/backend.cjs');
const { echoService } = require('../support/echo-service.cjs');
const { startCoverage } = require('./coverage.cjs');

const [, , folder, subject, controlPlane] = process.argv;
const WARM_UPS = 30;
/** By then, all that an update causes has run. */
const SETTLED_MS = 400;

const Echo = grpc.makeClientConstructor(echoService, 'Echo');
const connect = (target) => {
  const client = new Echo(target, grpc.credentials.createInsecure());
  const say = promisify(client.say).bind(client);
  return () => say(Buffer.from('x'));
};

/** What the parent tells the control plane. */
const publish = (services) =>
  new Promise((resolve) => {
    process.once('message', resolve);
    process.send(services);
  });

async function measure() {
  const ports = await Promise.all([0, 1, 2].map(async () => (await startBackend()).port));
  const [a, b, c] = ports.map((port) => `127.0.0.1:${port}`);
  await publish({ echo: [a, b] });
  if (subject === 'first') {
    // grpc-js is warm then.
    await connect(a)();
    const report = await startCoverage(join(folder, 'dist'));
    require(join(folder, 'dist')).register({ bootstrap: JSON.parse(controlPlane) });
    await connect('xds:///echo')();
    return { first: await report() };
  }
  require(join(folder, 'dist')).register({ bootstrap: JSON.parse(controlPlane) });
  const say = connect('xds:///echo');
  for (let i = 0; i < WARM_UPS; i++) await say();
  await sleep(SETTLED_MS);
  const report = await startCoverage(join(folder, 'dist'));
  await report();
  await publish({ echo: [a, c] });
  await sleep(SETTLED_MS);
  const update = await report();
  await say();
  await new Promise(setImmediate);
  return { update, call: await report() };
}

measure().then(
  (result) => process.send({ result }, () => process.exit()),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
