// Calls of a client whose CPU time is measured, or what they allocate.
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

/**
 * Warms a client up, then answers each message, a number of calls, with the CPU time that one takes in microseconds; and
 * `{ allocating }`, such a number, with the bytes that one allocates.
 */
function answerWithCpuTime(client, label) {
  const call = () =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, body, (error) =>
        error ? reject(error) : resolve(),
      );
    });
  async function callMany(count) {
    let left = count;
    const worker = async () => {
      while (left-- > 0) await call();
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  }
  process.on('message', async (question) => {
    if (typeof question === 'object') {
      const { allocating } = question;
      const { all, own } = await countBytes(() => callMany(allocating));
      process.send({ all: all / allocating, own: own / allocating });
      return;
    }
    const count = question;
    const before = process.cpuUsage();
    await callMany(count);
    const { user, system } = process.cpuUsage(before);
    process.send({ microseconds: (user + system) / count });
  });
  callMany(5000).then(
    () => process.send('ready'),
    (error) => {
      console.error(label, error.message);
      process.exit(1);
    },
  );
}

module.exports = { answerWithCpuTime, roundRobinOptions };
