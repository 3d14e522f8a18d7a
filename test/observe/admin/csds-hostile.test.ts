import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2';
import { Server, status } from '@grpc/grpc-js';
import { addStatusService } from '../../../src/observe/admin/csds';
import { NodeMatcher } from '../../../src/wire/generated/envoy/type/matcher/v3/node';
import { systemClock } from '../../../src/util/clock';
import { MAX_WAITING_REQUESTS } from '../../../src/util/limits';
import { eventually } from '../../support/eventually';
import { observedClient } from '../../support/observed-client';
import { bind } from '../../support/listen';

const SERVICE = '/envoy.service.status.v3.ClientStatusDiscoveryService';

/** Encodes a field of a message: its number, and bytes as often as it occurs. */
function field(number: number, bytes: Uint8Array, count = 1): Buffer {
  const length: number[] = [];
  for (let rest = bytes.length; ; rest >>>= 7) {
    if (rest < 0x80) {
      length.push(rest);
      break;
    }
    length.push((rest & 0x7f) | 0x80);
  }
  const one = Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
  return Buffer.alloc(one.length * count, one);
}

/** A message within itself. */
function nest(number: number, depth: number): Buffer {
  let message = Buffer.alloc(0);
  for (let i = 0; i < depth; i++) message = Buffer.from(field(number, message));
  return message;
}

/** A message of gRPC with its frame. */
function frame(message: Uint8Array): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

const EMPTY = new Uint8Array(0);
const NOTHING = frame(EMPTY);

describe('CSDS', () => {
  const observe = jest.fn(() => [observedClient('a', 3, 100)]);
  let server: Server;
  let session: ClientHttp2Session;

  beforeEach(async () => {
    server = new Server();
    addStatusService(server, observe, systemClock);
    const port = await bind(server);
    session = connect(`http://127.0.0.1:${port}`);
    session.on('error', () => {});
    observe.mockClear();
  });
  afterEach(() => {
    session.destroy();
    server.forceShutdown();
  });

  function call(method: 'FetchClientStatus' | 'StreamClientStatus'): ClientHttp2Stream {
    const stream = session.request({
      ':method': 'POST',
      ':path': `${SERVICE}/${method}`,
      te: 'trailers',
      'content-type': 'application/grpc',
    });
    stream.on('error', () => {});
    return stream;
  }

  /** Resolves with the status of a call, whose response is read. */
  function statusOf(stream: ClientHttp2Stream): Promise<{ code: number; details: string }> {
    return new Promise((resolve) => {
      const settle = (headers: IncomingHttpHeaders) => {
        if (headers['grpc-status'] === undefined) return;
        const details = decodeURIComponent([headers['grpc-message']].flat().join());
        resolve({ code: Number(headers['grpc-status']), details });
      };
      stream.on('response', settle);
      stream.on('trailers', settle);
      stream.on('close', () => resolve({ code: -1, details: `reset with ${stream.rstCode}` }));
      stream.resume();
    });
  }

  const fetch = (message: Uint8Array) => {
    const stream = call('FetchClientStatus');
    stream.end(frame(message));
    return statusOf(stream);
  };

  // Field 1 are node matchers, 2 is the node, 3 leaves out the contents of resources.
  const metadata = field(2, field(3, field(1, field(1, Buffer.from('key')), 400_000)));
  const pattern = NodeMatcher.encode(
    NodeMatcher.create({
      nodeId: {
        matchPattern: { $case: 'safeRegex', value: { regex: '(a*)*'.repeat(200_000) } },
      },
    }),
  ).finish();

  it.each<[string, Uint8Array, RegExp]>([
    ['200,000 node matchers', field(1, EMPTY, 200_000), /node_matchers: more than 10000 fields/],
    ['a node with a million of metadata', metadata, /^cannot be read: node.metadata.fields: more/],
    ['node matchers of 300 messages in one another', field(1, nest(2, 300)), /recursion|node_m/],
    ['a node matcher with a long pattern', field(1, pattern), /node_matchers: not supported/],
    ['a text of 2 MB', field(2, field(1, Buffer.alloc(2 ** 21, 'a'))), /node\.id: /],
    ['4 MB of unknown fields', field(99, EMPTY, 1_000_000), /more than 10000 fields/],
    ['a node that is cut off', Buffer.of(0x12, 0x7f), /^cannot be read: /],
  ])('refuses a request with %s, and answers the next one', async (_case, message, details) => {
    expect(await fetch(message)).toEqual({
      code: status.INVALID_ARGUMENT,
      details: expect.stringMatching(details),
    });
    expect(observe).not.toHaveBeenCalled();
    expect(await fetch(field(99, Buffer.from('unknown')))).toMatchObject({ code: status.OK });
  });

  it('refuses such a request on a stream', async () => {
    const stream = call('StreamClientStatus');
    const ended = statusOf(stream);
    stream.write(NOTHING);
    stream.end(frame(field(1, EMPTY, 200_000)));
    expect(await ended).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(observe).toHaveBeenCalledTimes(1);
  });

  it('answers no more requests of a stream than are read', async () => {
    observe.mockReturnValue([observedClient('a', 12, 2 ** 20)]);
    const stuck = call('StreamClientStatus');
    for (let i = 0; i < 10_000; i++) stuck.write(NOTHING);
    await eventually(
      () => observe.mock.calls.length,
      (count) => count === 1,
    );
    // Another method of the same connection is served in the meantime: the flood is not read.
    const unknown = session.request({
      ':method': 'POST',
      ':path': '/no.such/Method',
      te: 'trailers',
    });
    await statusOf(unknown);
    expect(observe).toHaveBeenCalledTimes(1);
    stuck.close(constants.NGHTTP2_CANCEL);
    observe.mockReturnValue([observedClient('a', 3, 100)]);
    expect(await fetch(EMPTY)).toMatchObject({ code: status.OK });
  });

  it('answers the next caller after a thousand that went away half-way', async () => {
    for (let i = 0; i < 1000; i++) {
      const stream = call(i % 2 === 0 ? 'FetchClientStatus' : 'StreamClientStatus');
      if (i % 3 === 0) stream.write(NOTHING.subarray(0, 3));
      else stream.write(NOTHING);
      if (i % 5 === 0) stream.end();
      // After the server has read some, and before it has read others.
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      stream.close(constants.NGHTTP2_CANCEL);
    }
    expect(await fetch(EMPTY)).toMatchObject({ code: status.OK });
    expect(observe.mock.calls.length).toBeLessThanOrEqual(1000 / MAX_WAITING_REQUESTS + 20);
  });
});
