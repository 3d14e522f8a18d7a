// A client that makes one call on each of its channels, of which there is one by default, and then watches itself. Answers `reset`, and `read` with what happened since: CPU
// time and the longest pause of the event loop, in milliseconds; and `memory` with what is in use after a collection.
const { monitorEventLoopDelay } = require('node:perf_hooks');
const { setFlagsFromString } = require('node:v8');
const { runInNewContext } = require('node:vm');
const grpc = require('@grpc/grpc-js');
const { echoService } = require('../support/echo-service.cjs');

const [variant, channels = '1'] = process.argv.slice(2);
require(variant === 'grpc-xds' ? '../../dist/index.js' : variant).register();
const clients = Array.from(
  { length: Number(channels) },
  () => new grpc.Client('xds:///echo.example.com', grpc.credentials.createInsecure()),
);
const { path, requestSerialize, responseDeserialize } = echoService.say;
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let before = process.cpuUsage();

/** The longest time for which nothing else could run: what a tick of a timer of 1 ms was late by. */
const pauseMs = () => Math.max(0, delay.max / 1e6 - 1);

async function collectGarbage() {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  // Weak references and finalizers take more than one round.
  for (let round = 0; round < 4; round++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const answers = {
  reset() {
    delay.reset();
    before = process.cpuUsage();
    return 'ok';
  },
  read() {
    const { user, system } = process.cpuUsage(before);
    return { cpuMs: (user + system) / 1000, pauseMs: pauseMs() };
  },
  async memory() {
    await collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return { heapBytes: heapUsed, externalBytes: external };
  },
};

process.on('message', async (question) => process.send(await answers[question]()));

let answered = 0;
for (const client of clients) {
  client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    Buffer.alloc(32),
    (error) => {
      if (error) {
        console.error(variant, error.message);
        process.exit(1);
      }
      if (++answered < clients.length) return;
      process.send({ firstCallMs: performance.now(), firstPauseMs: pauseMs() });
    },
  );
}
