// A process with a client of this package that calls all the time. On a message it says how many calls there were, how many failed, and
// when the first one had an answer of the second backend. Argument: the bootstrap.
const grpc = require('@grpc/grpc-js');
require('../../dist').register({ bootstrap: JSON.parse(process.argv[2]) });

const INTERVAL_MS = 20;
const DEADLINE_MS = 5000;
const client = new grpc.Client('xds:///bench', grpc.credentials.createInsecure());
const same = (bytes) => bytes;
let calls = 0;
let failed = 0;
let failure;
let secondAtMs;

function call() {
  calls++;
  const options = { deadline: Date.now() + DEADLINE_MS };
  client.makeUnaryRequest('/bench/Say', same, same, Buffer.alloc(0), options, (error, answer) => {
    if (error) {
      failed++;
      failure ??= error.message;
    } else if (answer.toString() === 'second') {
      secondAtMs ??= Number(process.hrtime.bigint()) / 1e6;
    }
  });
}

client.waitForReady(Date.now() + 60_000, (error) => {
  if (error) throw error;
  setInterval(call, INTERVAL_MS);
  process.send('ready');
});
process.on('message', () => process.send({ calls, failed, failure, secondAtMs }));
