// What the processes with hostile clients have in common: `{ attack, port, seconds }` is answered with the number of attempts, and of
// those refused, when the time is over.
const { once } = require('node:events');
const http2 = require('node:http2');
const net = require('node:net');
const { setTimeout: sleep } = require('node:timers/promises');

const HALF_OPEN = 1000;
const AT_A_TIME = 20;

exports.ignore = () => undefined;

exports.openSocket = async (port) => {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', exports.ignore);
  await once(socket, 'connect');
  return socket;
};

exports.openSession = (port) => {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  session.on('error', exports.ignore);
  return session;
};

/** Repeats an attempt until the time is over, several at a time. @param attempt Returns whether it was refused. */
exports.repeat = async (untilMs, attempt) => {
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
};

/** Repeats attempts on one connection, which is opened again when it has ended. @returns as `repeat`. */
exports.repeatOnSession = ({ port, untilMs }, attempt) => {
  let session;
  return exports.repeat(untilMs, async () => {
    if (session === undefined || session.destroyed || session.closed) {
      session = exports.openSession(port);
    }
    const used = session;
    await attempt(used);
    return used.destroyed;
  });
};

/** Opens connections that send the same bytes and nothing after them, and keeps them. */
exports.halfOpen = async ({ port, untilMs }, bytes) => {
  const sockets = [];
  for (let i = 0; i < HALF_OPEN; i++) {
    const socket = await exports.openSocket(port);
    socket.write(bytes);
    sockets.push(socket);
  }
  await sleep(Math.max(0, untilMs - Date.now()));
  return { attempts: sockets.length, refused: sockets.filter(({ closed }) => closed).length };
};

/** Opens connections and closes them. */
exports.connections = ({ port, untilMs }) =>
  exports.repeat(untilMs, async () => void (await exports.openSocket(port)).destroy());

exports.serve = (attacks) => {
  process.on('message', async ({ attack, seconds, ...options }) => {
    process.send(await attacks[attack]({ ...options, untilMs: Date.now() + seconds * 1000 }));
  });
  process.send('ready');
};
