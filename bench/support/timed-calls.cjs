// Calls of a client whose CPU time is measured.
const { echoService } = require('./echo-service.cjs');

const CONCURRENCY = 16;
const { path, requestSerialize, responseDeserialize } = echoService.say;
const body = Buffer.alloc(32, 1);

/** The options of a channel whose endpoints take turns. */
const roundRobinOptions = {
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
};

/** Warms a client up, then answers each message, a number of calls, with the CPU time that one takes in microseconds. */
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
  process.on('message', async (count) => {
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
