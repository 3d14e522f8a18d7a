// A client with two channels: one whose calls must go on, fifty a second, and one to the hostile service.
const { createRequire } = require('node:module');
const { subscribe } = require('node:diagnostics_channel');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const { echoService } = require('../support/echo-service.cjs');

const GOOD_CALL_MS = 20;
const HOSTILE_CALL_MS = 100;
const DEADLINE_MS = 5000;
const HOSTILE_DEADLINE_MS = 2000;
const RESOLUTION_MS = 5;
/** How long the good configuration may take to be in use. */
const HEAL_MS = 20_000;

const { bootstrap, dist, rest, csds } = JSON.parse(process.argv[2]);
// The copy of grpc-js that the build under test has.
const grpc = createRequire(dist)('@grpc/grpc-js');
require(dist).register({ bootstrap });

const { path, requestSerialize, responseDeserialize } = echoService.say;
const tally = () => ({ ok: 0, failed: 0, lastError: undefined, latestMs: 0 });

/** @param onPeer Called with the address of the backend that answered. */
function call(client, deadlineMs, metadata, into, onPeer) {
  const started = performance.now();
  const deadline = Date.now() + deadlineMs;
  const done = (error) => {
    if (error) into.lastError = error.message.slice(0, 160);
    if (error) into.failed++;
    else into.ok++;
    if (!error) onPeer?.(clientCall.getPeer());
    into.latestMs = Math.max(into.latestMs, performance.now() - started);
  };
  const clientCall = client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    Buffer.alloc(8),
    metadata,
    { deadline },
    done,
  );
}

const MIB = 2 ** 20;
const usedMiB = () => {
  try {
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / MIB;
  } catch {
    // Without a free descriptor the host cannot tell.
    return 0;
  }
};

const newClient = (target) => new grpc.Client(target, grpc.credentials.createInsecure());

function startAdmin() {
  const server = new grpc.Server();
  grpc.addAdminServicesToServer(server);
  return new Promise((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

async function main() {
  const good = newClient('xds:///good');
  const goodCalls = tally();
  await new Promise((resolve, reject) =>
    good.waitForReady(Date.now() + 10_000, (e) => (e ? reject(e) : resolve())),
  );
  let baseMiB = 0;
  let peakMiB = 0;
  setInterval(() => {
    peakMiB = Math.max(peakMiB, usedMiB());
    call(good, DEADLINE_MS, new grpc.Metadata(), goodCalls);
  }, GOOD_CALL_MS);
  const statusPort = csds ? await startAdmin() : undefined;
  process.send({ statusPort });

  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const hostileCalls = tally();
  let cpu;
  let lastPeer = '';
  let headersOfBad;
  let clusters = 0;
  let pauseBeforeMs = 0;
  subscribe('grpc-xds:config-published', (event) => {
    if (event.target === 'xds:///bad') clusters = event.clusters;
  });
  process.on('message', (message) => {
    if (message.begin) {
      Object.assign(goodCalls, tally());
      globalThis.gc();
      baseMiB = peakMiB = usedMiB();
      delay.enable();
      cpu = process.cpuUsage();
      const bad = newClient(rest ? 'xds://rest/bad' : 'xds:///bad');
      headersOfBad = grpc.Metadata.fromHttp2Headers(message.begin);
      setInterval(
        () =>
          call(bad, HOSTILE_DEADLINE_MS, headersOfBad, hostileCalls, (peer) => (lastPeer = peer)),
        HOSTILE_CALL_MS,
      );
      process.send('begun');
    } else if (message.healedPort) {
      headersOfBad = new grpc.Metadata();
      // Another backend answers once the good configuration is in use.
      const startedMs = performance.now();
      const check = () => {
        const ms = performance.now() - startedMs;
        const isHealed = lastPeer.endsWith(`:${message.healedPort}`);
        if (isHealed || ms > HEAL_MS) process.send({ ms });
        else setTimeout(check, RESOLUTION_MS);
      };
      check();
    } else if (message.aloneMs) {
      // What calls take beside a control plane that sends nothing.
      const before = process.cpuUsage();
      const startedMs = performance.now();
      setTimeout(() => {
        const { user, system } = process.cpuUsage(before);
        process.send({ cpuShare: (user + system) / 1000 / (performance.now() - startedMs) });
      }, message.aloneMs);
    } else if (message === 'wait until in use') {
      const check = () => {
        if (hostileCalls.ok === 0) setTimeout(check, HOSTILE_CALL_MS);
        else {
          // From here on, what callers of the admin port cause is measured on its own.
          pauseBeforeMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
          delay.reset();
          process.send('in use');
        }
      };
      check();
    } else {
      const { user, system } = process.cpuUsage(cpu);
      const pauseAfterMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
      const pauses = {
        pauseMs: Math.max(pauseBeforeMs, pauseAfterMs),
        pauseBeforeMs,
        pauseAfterMs,
      };
      const rssMiB = process.resourceUsage().maxRSS / 1024;
      const addedMiB = peakMiB - baseMiB;
      globalThis.gc();
      const keptMiB = usedMiB() - baseMiB;
      const cpuMs = (user + system) / 1000;
      process.send({
        ...pauses,
        cpuMs,
        rssMiB,
        addedMiB,
        keptMiB,
        goodCalls,
        hostileCalls,
        clusters,
      });
    }
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
