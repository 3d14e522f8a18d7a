import { once } from 'node:events';
import { status } from '@grpc/grpc-js';
import { constants, type IncomingHttpHeaders } from 'node:http2';
import { MAX_REJECTION_LENGTH } from '../../packages/relay/src/limits';
import { MAX_UNREAD_BYTES } from '../../src/util/limits';
import { Node } from '../../src/wire/generated/envoy/config/core/v3/base';
import { DiscoveryResponse } from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { Struct, Value } from '../../src/wire/generated/google/protobuf/struct';
import { cluster } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { ADS_HEADERS, HostileScene } from './hostile-scene';

const CONNECTIONS = 200;
const node = Node.create({ id: 'hostile' });
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const NO_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
/** Of HTTP/2, with no error and no stream. */
const GOAWAY = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, ...Array<number>(8).fill(0)]);

/** A cluster of so many bytes. */
const large = (name: string, bytes: number) => ({
  ...cluster(name),
  metadata: { filter_metadata: { large: { text: 'x'.repeat(bytes) } } },
});

/** Returns the messages of a stream of gRPC. */
function messagesOf(bytes: Buffer): readonly DiscoveryResponse[] {
  const messages: DiscoveryResponse[] = [];
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) break;
    messages.push(DiscoveryResponse.decode(bytes.subarray(at + 5, end)));
    at = end;
  }
  return messages;
}

describe('a relay', () => {
  let scene: HostileScene;

  beforeEach(async () => {
    scene = await HostileScene.start();
  });
  afterEach(() => scene.stop());

  it('has one response waiting for a client that does not read, and then sends the last version only', async () => {
    const clusters = [large('large', 200_000)];
    scene.serve({ clusters });
    const stream = scene.subscribe(scene.openSession(), ['echo', 'large'], { node });
    await eventually(
      () => scene.inspect().types[0]?.resources,
      (count) => count === 2,
    );
    const first = await eventually(
      () => scene.sentVersion('hostile'),
      (version) => version !== undefined,
    );
    for (let i = 0; i < 50; i++) await scene.expectUpdate({ clusters });
    expect(scene.sentVersion('hostile')).toBe(first);

    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    const received = await eventually(
      () => messagesOf(Buffer.concat(chunks)),
      (messages) => messages.at(-1)?.versionInfo === scene.sentVersion('good'),
    );
    expect(received.length).toBeLessThanOrEqual(3);
  });

  it('resets streams that are not read when more than the bound waits for all together', async () => {
    const bytes = 8 * 1024 * 1024;
    const count = MAX_UNREAD_BYTES / bytes + 4;
    scene.serve({ clusters: [large('large', bytes)] });
    const session = scene.openSession();
    // Until it has acknowledged the settings, a client has 10 streams.
    await once(session, 'remoteSettings');
    await once(session, 'remoteSettings');
    const streams = Array.from({ length: count }, () =>
      scene.subscribe(session, ['large'], { node }),
    );
    const ends = streams.map(
      (stream) =>
        new Promise<number>((resolve) => stream.on('close', () => resolve(stream.rstCode))),
    );
    expect(await Promise.race(ends)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    const hostile = () => scene.nodeIds.filter((id) => id === node.id).length;
    const left = await eventually(hostile, (open) => open < count);
    expect(left * bytes).toBeGreaterThan(MAX_UNREAD_BYTES / 2);
    await scene.expectUpdate({ clusters: [large('large', bytes)] });
  });

  it.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['half a preface', Buffer.from(PREFACE.slice(0, 12))],
    ['a preface and no stream', Buffer.concat([Buffer.from(PREFACE), NO_SETTINGS])],
  ])(`serves others beside ${CONNECTIONS} connections that send %s`, async (_case, bytes) => {
    for (let i = 0; i < CONNECTIONS; i++) {
      // One at a time: more connections than the backlog would be refused by the system.
      const socket = scene.connect();
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(bytes);
    }
    await scene.expectUpdate();
    expect(scene.nodeIds).toEqual(['good']);
  });

  it('survives a flood of GOAWAY frames', async () => {
    const socket = scene.connect();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    socket.write(Buffer.concat([Buffer.from(PREFACE), NO_SETTINGS]));
    const frames = Buffer.concat(Array<Buffer>(10_000).fill(GOAWAY));
    socket.write(frames);
    await scene.expectUpdate();
    socket.end();
    await closed;
  });

  it('serves others beside streams that are reset after their subscription', async () => {
    const session = scene.openSession();
    for (let i = 0; i < 300 && !session.destroyed; i++) {
      scene.subscribe(session, [`cluster-${i}`], { node }).close(constants.NGHTTP2_CANCEL);
    }
    await scene.expectUpdate();
    await eventually(
      () => scene.nodeIds,
      (ids) => ids.length === 1,
    );
  });

  it('serves a stream without a node as that of a node without an ID', async () => {
    const stream = scene.subscribe(scene.openSession(), ['echo']);
    stream.resume();
    await eventually(
      () => scene.sentVersion(''),
      (version) => version !== undefined,
    );
    await scene.expectUpdate();
  });

  it('refuses a node with large metadata, and serves others beside it and beside large headers', async () => {
    const text = Value.create({
      kind: { $case: 'stringValue', value: 'x'.repeat(500_000) },
    });
    const metadata = Struct.create({ fields: new Map([['text', text]]) });
    const stream = scene.subscribe(scene.openSession(), ['echo'], { node: { ...node, metadata } });
    stream.resume();
    const trailers = await new Promise<IncomingHttpHeaders>((resolve) =>
      stream.on('response', resolve),
    );
    expect(trailers['grpc-status']).toBe(String(status.RESOURCE_EXHAUSTED));
    expect(trailers['grpc-message']).toBe('node:%20more%20than%20262144%20bytes');
    const request = scene.openSession().request({ ...ADS_HEADERS, 'x-large': 'x'.repeat(100_000) });
    const closed = new Promise((resolve) => request.once('close', resolve));
    request.on('error', () => {});
    request.resume();
    await closed;
    await scene.expectUpdate();
    expect(scene.nodeIds).toEqual(['good']);
  });

  it('reports a part of a long rejection', async () => {
    const errorDetail = { code: 3, message: 'x'.repeat(500_000), details: [] };
    const stream = scene.subscribe(scene.openSession(), ['echo'], { node });
    stream.resume();
    await eventually(
      () => scene.sentVersion('hostile'),
      (version) => version !== undefined,
    );
    scene.send(stream, { resourceNames: ['echo'], responseNonce: '1', errorDetail });
    const rejectionOf = () =>
      scene.inspect().clients.find(({ nodeId }) => nodeId === 'hostile')?.types[0]?.rejection;
    const rejection = await eventually(rejectionOf, (message) => message !== undefined);
    expect(rejection?.length).toBe(MAX_REJECTION_LENGTH + '…'.length);
    await scene.expectUpdate();
  });
});
