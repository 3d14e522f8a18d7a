// Calls of clients whose CPU time is measured, or what they allocate.
const { Session } = require('node:inspector');
const { echoService } = require('./echo-service.cjs');

const CONCURRENCY = 16;
const { path, requestSerialize, responseDeserialize } = echoService.say;
const body = Buffer.alloc(32, 1);

/** The options of a channel whose endpoints take turns. */
const roundRobinOptions = {
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
};

/** Returns the bytes that the work allocates on the heap, by samples: in all, and in code of this package. */
async function countBytes(work) {
  const session = new Session();
  session.connect();
  const post = (method, parameters) =>
    new Promise((resolve, reject) => {
      session.post(method, parameters, (error, result) =>
        error ? reject(error) : resolve(result),
      );
    });
  await post('HeapProfiler.startSampling', {
    samplingInterval: 512,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await work();
  const { profile } = await post('HeapProfiler.stopSampling');
  session.disconnect();
  const bytes = { all: 0, own: 0 };
  const add = ({ callFrame: { url }, selfSize, children }) => {
    bytes.all += selfSize;
    if (url.includes('/dist/shared/')) bytes.own += selfSize;
    children.forEach(add);
  };
  add(profile.head);
  return bytes;
}

/** Makes unary calls with a client. */
async function callMany(client, count) {
  const call = () =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, body, (error) =>
        error ? reject(error) : resolve(),
      );
    });
  let left = count;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** Short turns of each client, so that what is compiled serves all of them. */
async function warmUp(clients) {
  for (let turn = 0; turn < 10; turn++) {
    for (const client of clients) await callMany(client, 500);
  }
}

/**
 * Warms clients up, then answers each message `{ client, calls }`, the index of a client and a number of calls, with the
 * CPU time that one takes in microseconds; and `{ client, allocating }`, also a number of calls, with the bytes that one
 * allocates.
 */
function answerWithCpuTime(clients, label) {
  process.on('message', async ({ client: index, calls, allocating }) => {
    const client = clients[index];
    if (allocating !== undefined) {
      const { all, own } = await countBytes(() => callMany(client, allocating));
      process.send({ all: all / allocating, own: own / allocating });
      return;
    }
    const before = process.cpuUsage();
    await callMany(client, calls);
    const { user, system } = process.cpuUsage(before);
    process.send({ microseconds: (user + system) / calls });
  });
  warmUp(clients).then(
    () => process.send('ready'),
    (error) => {
      console.error(label, error.message);
      process.exit(1);
    },
  );
}

module.exports = { answerWithCpuTime, callMany, roundRobinOptions };
