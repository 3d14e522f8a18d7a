// A client of a service with many endpoints of which none is used. Says what it cost to have them, once all resources are there.
// Answers each message, a number of keys, after a call with each of them.
const grpc = require('@grpc/grpc-js');
const { echoService } = require('../support/echo-service.cjs');
const { createXdsChannelCredentials, register } = require('../../dist/index.js');

const [service] = process.argv.slice(2);
register();
const before = process.cpuUsage();
const client = new grpc.Client(
  `xds:///${service}`,
  createXdsChannelCredentials(grpc.credentials.createInsecure()),
);
const { path, requestSerialize, responseDeserialize } = echoService.say;

function call(key) {
  const metadata = new grpc.Metadata();
  if (key !== undefined) metadata.set('key', key);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      Buffer.alloc(32, 1),
      metadata,
      (error) => (error ? reject(error) : resolve()),
    );
  });
}

process.on('message', async (keys) => {
  for (let i = 0; i < keys; i++) await call(`key-${i}`);
  process.send('called');
});

call().then(
  () => {
    const { user, system } = process.cpuUsage(before);
    const { rss } = process.memoryUsage();
    process.send({ cpuMs: (user + system) / 1000, rssMiB: rss / 2 ** 20 });
  },
  (error) => {
    console.error(service, error.message);
    process.exit(1);
  },
);
