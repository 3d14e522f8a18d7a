import {
  describeClient,
  describeResource,
  type ObservedClient,
} from '../../src/admin/client-config';
import { StatusEncoder } from '../../src/admin/status-encoder';
import { Node } from '../../src/generated/envoy/config/core/v3/base';
import { ClientStatusResponse } from '../../src/generated/envoy/service/status/v3/csds';
import type { ResourceSnapshot } from '../../src/xds-client/client-snapshot';
import { FakeClock } from '../support/fake-clock';

const ALL = { excludeContents: false };

function resource(name: string, size: number): ResourceSnapshot {
  return {
    typeUrl: 'type.googleapis.com/test.Thing',
    name,
    status: 'ACKED',
    accepted: { version: '1', bytes: Buffer.alloc(size, 'x'), updatedAtMs: 1000 },
    failure: undefined,
    watchers: 1,
    waitingSinceMs: undefined,
  };
}

function clientWith(id: string, count: number, size = 10): ObservedClient {
  const resources = Array.from({ length: count }, (_, i) => resource(`thing-${i}`, size));
  const snapshot = { servers: [], resources, waitingFor: [] };
  return { node: Node.create({ id }), scope: 'xds:///a', snapshot };
}

/** The response as the generated code encodes the whole of it. */
function wholeOf(clients: readonly ObservedClient[], options = ALL): Buffer {
  const config = clients.map((client) => ({
    ...describeClient(client),
    genericXdsConfigs: client.snapshot.resources.map((each) => describeResource(each, options)),
  }));
  return canonical(ClientStatusResponse.encode({ config }).finish());
}

/** Equal for two encodings of the same message. */
function canonical(response: Uint8Array): Buffer {
  return Buffer.from(ClientStatusResponse.encode(ClientStatusResponse.decode(response)).finish());
}

function encoderOf(clients: readonly ObservedClient[]) {
  const clock = new FakeClock();
  const observe = jest.fn(() => clients);
  return { clock, observe, encoder: new StatusEncoder(observe, clock) };
}

describe('the encoder of CSDS responses', () => {
  it.each<[string, readonly ObservedClient[]]>([
    ['no client', []],
    ['a client without resources', [clientWith('a', 0)]],
    ['a full slice', [clientWith('a', 256)]],
    ['several slices and clients', [clientWith('a', 600), clientWith('b', 0), clientWith('c', 1)]],
    ['a resource larger than a slice', [clientWith('a', 3, 2 * 1024 * 1024)]],
  ])('encodes what the generated code encodes: %s', (_, clients) => {
    for (const excludeContents of [true, false]) {
      const { encoder, clock } = encoderOf(clients);
      const received = jest.fn();
      encoder.encode({ excludeContents }, received);
      clock.advance(0);
      expect(received).toHaveBeenCalledTimes(1);
      const [[response]] = received.mock.calls;
      expect(canonical(response).equals(wholeOf(clients, { excludeContents }))).toBe(true);
      expect(clock.pendingTimers).toBe(0);
    }
  });

  it.each([
    ['256 resources', clientWith('a', 1000, 10), 3],
    ['1 MiB', clientWith('a', 6, 700_000), 3],
  ])('gives other work a turn after every %s', (_, client, turns) => {
    const { encoder, clock } = encoderOf([client]);
    const pauses = jest.spyOn(clock, 'setTimer');
    const received = jest.fn();
    encoder.encode(ALL, received);
    expect(received).not.toHaveBeenCalled();
    clock.advance(0);
    expect(received).toHaveBeenCalledTimes(1);
    expect(pauses).toHaveBeenCalledTimes(turns);
  });

  // 1. One of eight requests starts an encoding. 2. The other seven wait for it to end. 3. They share the next one.
  it('encodes twice for eight requests at the same time', () => {
    const { encoder, clock, observe } = encoderOf([clientWith('a', 300)]);
    const received: Buffer[] = [];
    for (let i = 0; i < 8; i++) encoder.encode(ALL, (response) => received.push(response));
    clock.advance(0);
    expect(received).toHaveLength(8);
    expect(observe).toHaveBeenCalledTimes(2);
    expect(new Set(received).size).toBe(2);
  });

  it('takes the snapshot of a waiting request after the request arrived', () => {
    const { encoder, clock, observe } = encoderOf([clientWith('old', 300)]);
    const ids: unknown[] = [];
    const record = (response: Buffer) =>
      ids.push(ClientStatusResponse.decode(response).config[0]?.node?.id);
    encoder.encode(ALL, record);
    observe.mockReturnValue([clientWith('new', 300)]);
    encoder.encode(ALL, record);
    clock.advance(0);
    expect(ids).toEqual(['old', 'new']);
  });

  it('does not share a response between requests with and without contents', () => {
    const clients = [clientWith('a', 300)];
    const { encoder, clock } = encoderOf(clients);
    const received = new Map<string, Buffer>();
    for (const [name, excludeContents] of [
      ['first', false],
      ['with', false],
      ['without', true],
    ] as const) {
      encoder.encode({ excludeContents }, (response) => received.set(name, canonical(response)));
    }
    clock.advance(0);
    expect(received.get('with')).toEqual(wholeOf(clients));
    expect(received.get('without')).toEqual(wholeOf(clients, { excludeContents: true }));
  });

  it('stops encoding when the last request is cancelled, and serves the next one', () => {
    const { encoder, clock, observe } = encoderOf([clientWith('a', 1000)]);
    const cancelled = jest.fn();
    const first = encoder.encode(ALL, cancelled);
    const second = encoder.encode(ALL, cancelled);
    first.release();
    second.release();
    clock.advance(0);
    expect(cancelled).not.toHaveBeenCalled();
    expect(clock.pendingTimers).toBe(0);
    expect(observe).toHaveBeenCalledTimes(1);
    const received = jest.fn();
    encoder.encode(ALL, received);
    clock.advance(0);
    expect(received).toHaveBeenCalledTimes(1);
  });
});
