// A client that makes one call and then watches itself. Answers `reset`, and `read` with what happened since: CPU
// time and the longest pause of the event loop, in milliseconds.
const { monitorEventLoopDelay } = require('node:perf_hooks');
const grpc = require('@grpc/grpc-js');
const { echoService } = require('../support/echo-service.cjs');

const variant = process.argv[2];
require(variant === 'grpc-xds' ? '../../dist/index.js' : variant).register();
const client = new grpc.Client('xds:///echo.example.com', grpc.credentials.createInsecure());
const { path, requestSerialize, responseDeserialize } = echoService.say;
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let before = process.cpuUsage();

const answers = {
  reset() {
    delay.reset();
    before = process.cpuUsage();
    return 'ok';
  },
  read() {
    const { user, system } = process.cpuUsage(before);
    return { cpuMs: (user + system) / 1000, pauseMs: Math.max(0, delay.max / 1e6 - 1) };
  },
};

process.on('message', (question) => process.send(answers[question]()));

const call = () =>
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
      process.send({ firstCallMs: performance.now() });
    },
  );
call();
