// The clients of the servers that are measured, so that their CPU time is not that of the servers. Answers `{ port, calls }` and
// `{ port, handshakes }` when there were as many, `{ port, tls, open }` when as many connections are open, and `close` when they
// are not any more.
const { readFileSync } = require('node:fs');
const http2 = require('node:http2');
const tls = require('node:tls');
const net = require('node:net');
const grpc = require('@grpc/grpc-js');
const { callMany } = require('../support/timed-calls.cjs');

const CONCURRENT_HANDSHAKES = 8;
const files = JSON.parse(process.argv[2]);
const identity = files && {
  ca: readFileSync(files.root),
  cert: readFileSync(files.client.certificate),
  key: readFileSync(files.client.key),
};

const clients = new Map();
function clientOf(port) {
  if (!clients.has(port)) {
    const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
    clients.set(port, client);
  }
  return clients.get(port);
}

/** Connects, and waits for the settings of the server: it serves calls from then on. */
function connect(port, secure) {
  const session = http2.connect(`https://127.0.0.1:${port}`, {
    createConnection: () =>
      secure
        ? tls.connect({
            host: '127.0.0.1',
            port,
            servername: 'server.bench',
            ALPNProtocols: ['h2'],
            ...identity,
          })
        : net.connect(port, '127.0.0.1'),
  });
  return new Promise((resolve, reject) => {
    session.once('remoteSettings', () => resolve(session));
    session.once('error', reject);
  });
}

const closed = (session) =>
  new Promise((resolve) => {
    session.once('close', resolve);
    session.destroy();
  });

async function shakeMany(port, count) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await closed(await connect(port, true));
  };
  await Promise.all(Array.from({ length: CONCURRENT_HANDSHAKES }, worker));
}

const open = [];
async function openMany(port, secure, count) {
  for (let i = 0; i < count; i++) open.push(await connect(port, secure));
}

const acts = {
  calls: ({ port, calls }) => callMany(clientOf(port), calls),
  handshakes: ({ port, handshakes }) => shakeMany(port, handshakes),
  open: ({ port, tls: secure, open: count }) => openMany(port, secure, count),
  close: () => Promise.all(open.splice(0).map(closed)),
};

process.on('message', (question) => {
  const [name] = Object.keys(acts).filter((each) => each in question);
  acts[name](question).then(
    () => process.send('done'),
    (error) => {
      console.error(JSON.stringify(question), error.message);
      process.exit(1);
    },
  );
});
process.send('ready');
