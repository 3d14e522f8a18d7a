// A client of Node.js that is directed by the same lines of JSON as those in other languages; see
// ../../interop/cross/peers.mjs.
const { createInterface } = require('node:readline');
const grpc = require('@grpc/grpc-js');
const { emptyCallService } = require('../support/echo-service.cjs');

const [variant] = process.argv.slice(2);
if (variant === 'grpc-xds') require('../../dist/index.js').register();
else if (variant !== 'plain') require(variant).register();

const { path, requestSerialize, responseDeserialize } = emptyCallService.say;
const body = Buffer.alloc(0);
let client;

function clientOf({ target }) {
  client ??= new grpc.Client(target, grpc.credentials.createInsecure());
  return client;
}

function call(ended) {
  const metadata = new grpc.Metadata({ waitForReady: true });
  client.makeUnaryRequest(path, requestSerialize, responseDeserialize, body, metadata, ended);
}

/** See `Probe` of ../../interop/python/probe.py. */
class Probe {
  pending = new Set();
  slowestMs = 0;
  calls = 0;
  failed = 0;
  cpu = process.cpuUsage();
  nextDue = performance.now();

  constructor(intervalMs) {
    this.intervalMs = intervalMs;
    setInterval(() => this.callDue(), 1);
  }

  callDue() {
    for (const now = performance.now(); this.nextDue <= now; this.nextDue += this.intervalMs) {
      const due = { atMs: this.nextDue };
      this.pending.add(due);
      call((error) => this.end(due, error));
    }
  }

  end(due, error) {
    this.calls++;
    if (error) this.failed++;
    this.pending.delete(due);
    this.slowestMs = Math.max(this.slowestMs, performance.now() - due.atMs);
  }

  measured() {
    const [oldest] = this.pending;
    const oldestAtMs = Math.min(this.nextDue, oldest?.atMs ?? Infinity);
    const { user, system } = process.cpuUsage(this.cpu);
    const result = {
      slowestMs: Math.max(this.slowestMs, performance.now() - oldestAtMs),
      calls: this.calls,
      failed: this.failed,
      cpuMs: (user + system) / 1000,
    };
    Object.assign(this, { slowestMs: 0, calls: 0, failed: 0, cpu: process.cpuUsage() });
    return result;
  }
}

let probe;
const answers = {
  call(command) {
    clientOf(command);
    return new Promise((resolve) => {
      call((error) => resolve(error ? { error: error.message } : {}));
    });
  },
  probe(command) {
    clientOf(command);
    probe = new Probe(command.intervalMs);
    return {};
  },
  measured: () => probe.measured(),
};

const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
createInterface(process.stdin).on('line', async (line) => {
  const command = JSON.parse(line);
  say(await answers[command.do](command));
});
say({});
