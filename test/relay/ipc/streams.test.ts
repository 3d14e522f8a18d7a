import { createStreamMethod, type StreamCall } from '../../../src/control-plane/server-stream';
import { IpcConnection } from '../../../src/relay/ipc/ipc-connection';
import { decodeMessage, encodeMessage } from '../../../src/relay/ipc/ipc-message';
import { createLocalPorts } from '../../../src/relay/ipc/ipc-port';
import { IpcTransport } from '../../../src/relay/ipc/ipc-transport';
import {
  costOf,
  MAX_CHUNK_BYTES,
  MAX_STREAMS_OF_PROCESS,
  WINDOW_BYTES,
} from '../../../src/relay/ipc/limits';
import { systemClock } from '../../../src/util/clock';
import { StatusCode } from '../../../src/util/status-code';
import type { StreamStatus } from '../../../src/xds-client/transport';
import { eventually } from '../../support/eventually';
import { seededRandom } from '../../support/seeded-random';

const METHOD = '/test.Bytes/Stream';
const bytes = {
  encode: (message: Uint8Array) => ({ finish: () => message }),
  decode: (message: Uint8Array) => message,
};
const messages = { request: bytes, response: bytes, limit: { maxFields: 1, scope: 'request' } };
type BytesCall = StreamCall<Uint8Array, Uint8Array>;

/** A client and a relay's services at the two ends of a channel, and what passes on it. */
function connect(onCall: (call: BytesCall) => void, maxMessageBytes = 2 ** 26) {
  const [port, served] = createLocalPorts(systemClock);
  const lines: string[] = [];
  let sentToClient = 0;
  const counted = {
    ...served,
    peer: 'the client',
    isConnected: true,
    listen: served.listen.bind(served),
    post(envelope: Parameters<typeof served.post>[0]) {
      const decoded = decodeMessage(envelope);
      if (typeof decoded === 'object' && decoded.message.kind === 'data') {
        sentToClient += costOf(decoded.message.bytes);
      }
      served.post(envelope);
    },
  };
  const connection = new IpcConnection({
    port: counted,
    session: 's',
    upstream: 'istiod:15010',
    methods: new Map([[METHOD, createStreamMethod(METHOD, messages, onCall)]]),
    onMalformed: (peer) => lines.push(`malformed: ${peer}`),
    onClosed: () => lines.push('closed'),
  });
  const logger = {
    trace() {},
    info() {},
    error: (text: () => string) => void lines.push(text()),
  };
  const transport = new IpcTransport(port, {
    ...{ clock: systemClock, random: () => 0.5, logger, limits: { maxMessageBytes } },
  });
  const open = (method = METHOD) => {
    const received: Uint8Array[] = [];
    const statuses: StreamStatus[] = [];
    let sent = 0;
    const stream = transport.openStream(method, {
      onSent: () => sent++,
      onMessage: (message) => received.push(message),
      onClosed: (status) => statuses.push(status),
    });
    return { stream, received, statuses, sent: () => sent };
  };
  return { port, served, connection, transport, lines, open, sentToClient: () => sentToClient };
}

const echo = (call: BytesCall) => {
  call.on('data', (request) => {
    if (request.ok) call.write(request.value);
  });
  call.on('end', () => call.end());
};

describe('a stream by IPC', () => {
  it.each([0, 1, MAX_CHUNK_BYTES, MAX_CHUNK_BYTES + 1, 10 * WINDOW_BYTES + 3])(
    'passes a message of %i bytes in both directions',
    async (length) => {
      const { open } = connect(echo);
      const { stream, received, statuses } = open();
      const message = Uint8Array.from({ length }, (_, i) => i % 251);
      stream.send(message);
      stream.read();
      await eventually(
        () => received.length,
        (count) => count === 1,
      );
      expect(Buffer.from(received[0] ?? []).equals(message)).toBe(true);
      stream.halfClose();
      await eventually(
        () => statuses[0]?.code,
        (code) => code === StatusCode.OK,
      );
    },
  );

  it('sends a client that does not read no more than the window', async () => {
    const { open, sentToClient } = connect((call) => {
      for (let i = 0; i < 100; i++) call.write(new Uint8Array(WINDOW_BYTES / 4));
    });
    const { stream, received } = open();
    await eventually(sentToClient, (cost) => cost > WINDOW_BYTES / 2);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(sentToClient()).toBeLessThanOrEqual(WINDOW_BYTES);
    for (let i = 0; i < 100; i++) stream.read();
    await eventually(
      () => received.length,
      (count) => count === 100,
    );
  });

  it('ends a stream with a message that is too long, and one with more than the window', async () => {
    const { open, port } = connect((call) => call.write(new Uint8Array(1001)), 1000);
    const tooLong = open();
    tooLong.stream.read();
    await eventually(
      () => tooLong.statuses[0]?.code,
      (code) => code === StatusCode.RESOURCE_EXHAUSTED,
    );
    expect(tooLong.statuses[0]?.details).toBe('a message has more than 1000 bytes');
    let cancelled = 0;
    const flooded = connect((call) => call.on('cancelled', () => cancelled++));
    const link = 'l';
    const post = (message: Parameters<typeof encodeMessage>[0]['message']) =>
      flooded.port.post(encodeMessage({ link, message }, true));
    post({ kind: 'open', stream: 1, session: 's', method: METHOD });
    for (let i = 0; i <= WINDOW_BYTES / 256 + 20; i++) {
      post({ kind: 'data', stream: 1, bytes: new Uint8Array(0), isLast: true });
    }
    await eventually(
      () => cancelled,
      (count) => count === 1,
    );
    expect(port.isConnected).toBe(true);
  });

  it('refuses methods that the relay does not have, and streams beyond the bound', async () => {
    const { open } = connect(echo);
    const other = open('/test.Other/Stream');
    const streams = Array.from({ length: MAX_STREAMS_OF_PROCESS + 1 }, () => open());
    const last = streams.at(-1);
    await eventually(
      () => [other.statuses[0]?.code, last?.statuses[0]?.code],
      ([one, two]) => one === StatusCode.UNIMPLEMENTED && two === StatusCode.RESOURCE_EXHAUSTED,
    );
    expect(streams.filter(({ statuses }) => statuses.length > 0)).toHaveLength(1);
  });

  it('ends the calls of a process that is gone, and the streams of a relay that has ended', async () => {
    let cancelled = 0;
    const onCall = (call: BytesCall) => void call.on('cancelled', () => cancelled++);
    const left = connect(onCall);
    left.open().stream.send(new Uint8Array(1));
    await eventually(
      () => left.lines,
      () => true,
    );
    left.port.close();
    await eventually(
      () => left.lines,
      (lines) => lines.includes('closed'),
    );
    const ended = connect(onCall);
    const { statuses, sent, stream } = ended.open();
    stream.send(new Uint8Array(1));
    await eventually(sent, (count) => count === 1);
    ended.connection.close();
    await eventually(
      () => statuses[0]?.code,
      (code) => code === StatusCode.UNAVAILABLE,
    );
    expect(statuses).toMatchObject([{ isSucceeded: true }]);
    const replaced = ended.open();
    await eventually(
      () => replaced.statuses[0]?.details,
      (details) => details === 'the relay in the primary of node:cluster has ended',
    );
    expect(cancelled).toBeGreaterThan(0);
  });

  it('ignores what the application sends, and logs once what cannot be read', async () => {
    const { port, served, lines, open } = connect(echo);
    const { stream, received, sent } = open();
    stream.send(Uint8Array.of(1));
    stream.read();
    await eventually(
      () => received.length + sent(),
      (count) => count === 2,
    );
    // Another stream, which the random messages are about.
    open();
    for (const own of [undefined, null, 1, 'text', {}, { id: 1 }, []]) {
      expect(decodeMessage(own)).toBeUndefined();
    }
    const random = seededRandom(7);
    const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)];
    const kinds = [
      'hello',
      'welcome',
      'ready',
      'bye',
      'open',
      'data',
      'credit',
      'half-close',
      'end',
    ];
    const odd = [
      undefined,
      null,
      -1,
      0,
      1,
      2 ** 53,
      0.5,
      NaN,
      '',
      'x',
      'x'.repeat(300),
      {},
      [],
      true,
    ];
    const bodies = [...odd, new Uint8Array(3), new Uint8Array(MAX_CHUNK_BYTES + 1), 'AAAA', '****'];
    for (let i = 0; i < 5000; i++) {
      const fields = {
        ...{
          link: pick(['ii', 'f', ...odd]),
          kind: pick([...kinds, ...odd]),
          stream: pick([2, 3, 0.5, -1, 'x']),
        },
        ...{ session: pick(['other', ...odd]), method: pick([METHOD, ...odd]), version: pick(odd) },
        ...{ bytes: pick(bodies), isLast: pick(odd), code: pick(odd), details: pick(odd) },
      };
      const envelope = { grpcXds: random() < 0.05 ? {} : fields };
      port.post(envelope);
      served.post(envelope);
    }
    stream.send(Uint8Array.of(1, 2, 3));
    stream.read();
    await eventually(
      () => received.length,
      (count) => count === 2,
    );
    expect(lines.filter((line) => line.startsWith('xds: a message from'))).toHaveLength(1);
  });
});
