// Hostile clients of a server: `{ attack, port, files, seconds }` is answered with the number of attempts, and of those refused,
// when the time is over.
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const http2 = require('node:http2');
const net = require('node:net');
const tls = require('node:tls');
const { setTimeout: sleep } = require('node:timers/promises');
const grpc = require('@grpc/grpc-js');
const { call, connect } = require('./server-calls.cjs');

/** The beginning of a ClientHello of 512 bytes. */
const HELLO = Buffer.from('160301020001000001fc0303', 'hex');
const HALF_OPEN = 1000;
const AT_A_TIME = 20;
const RESETS = 100;
/** What grpc-js accepts of the headers of a call: with names and 32 bytes for each header, below 16 KiB and above. */
const TEXT = 'x'.repeat(6000);
const LONG_TEXT = 'x'.repeat(200_000);

const ignore = () => undefined;

async function openSocket(port) {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', ignore);
  await once(socket, 'connect');
  return socket;
}

/** Repeats an attempt until the time is over, several at a time. @param attempt Returns whether it was refused. */
async function repeat(untilMs, attempt) {
  const tally = { attempts: 0, refused: 0 };
  const worker = async () => {
    while (Date.now() < untilMs) {
      const isRefused = await attempt();
      tally.attempts++;
      if (isRefused) tally.refused++;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return tally;
}

/** @returns whether the server closes the connection without a byte of HTTP/2. */
async function shakeHands(port, identity) {
  const socket = tls.connect({
    ...{ host: '127.0.0.1', port, servername: 'server.bench', ALPNProtocols: ['h2'] },
    ...identity,
  });
  socket.on('error', ignore);
  const closed = once(socket, 'close').then(() => true);
  const isRefused = await Promise.race([
    closed,
    once(socket, 'data').then(
      () => false,
      () => true,
    ),
  ]);
  socket.destroy();
  return isRefused;
}

async function resetCalls(session) {
  for (let i = 0; i < RESETS && !session.destroyed; i++) {
    const headers = { ':method': 'POST', ':path': '/demo.Echo/Say', te: 'trailers' };
    const stream = session.request({ ...headers, 'content-type': 'application/grpc' });
    stream.on('error', ignore);
    stream.close(http2.constants.NGHTTP2_CANCEL);
  }
  await new Promise(setImmediate);
}

async function callWith(client, text) {
  const metadata = new grpc.Metadata();
  metadata.set('x-text', text);
  for (let i = 0; i < 50; i++) metadata.set(`x-${i}`, 'v');
  return (await call(client, metadata)) !== undefined;
}

const attacks = {
  async halfOpen({ port, untilMs }) {
    const sockets = [];
    for (let i = 0; i < HALF_OPEN; i++) {
      const socket = await openSocket(port);
      socket.write(HELLO);
      sockets.push(socket);
    }
    await sleep(Math.max(0, untilMs - Date.now()));
    return { attempts: sockets.length, refused: sockets.filter(({ closed }) => closed).length };
  },
  handshakes: ({ port, files, untilMs }) => {
    const identity = {
      ca: readFileSync(files.root),
      cert: readFileSync(files.hostile.certificate),
      key: readFileSync(files.hostile.key),
    };
    return repeat(untilMs, () => shakeHands(port, identity));
  },
  connections: ({ port, untilMs }) =>
    repeat(untilMs, async () => void (await openSocket(port)).destroy()),
  halfHandshakes: ({ port, untilMs }) =>
    repeat(untilMs, async () => {
      const socket = await openSocket(port);
      await new Promise((resolve) => socket.write(HELLO, resolve));
      socket.destroy();
    }),
  async resets({ port, untilMs }) {
    let session;
    return repeat(untilMs, async () => {
      if (session === undefined || session.destroyed || session.closed) {
        session = http2.connect(`http://127.0.0.1:${port}`);
        session.on('error', ignore);
      }
      const used = session;
      await resetCalls(used);
      return used.destroyed;
    });
  },
  async headers({ port, untilMs }) {
    const client = await connect(port);
    return repeat(untilMs, () => callWith(client, TEXT));
  },
  async longHeaders({ port, untilMs }) {
    const client = await connect(port);
    return repeat(untilMs, () => callWith(client, LONG_TEXT));
  },
};

process.on('message', async ({ attack, seconds, ...options }) => {
  process.send(await attacks[attack]({ ...options, untilMs: Date.now() + seconds * 1000 }));
});
process.send('ready');
