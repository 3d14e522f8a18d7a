import type { Clock } from '../../src/util/clock';
import {
  LARGE_RESPONSE_BYTES,
  LARGE_RESPONSE_RESOURCES,
  READ_SLICE_MS,
} from '../../src/xds-client/limits';
import type { DecodeContext, Decoded, Decoding } from '../../src/xds-client/resource-type';
import { DeltaHarness, Harness, RecordingWatcher } from './harness';
import { seconds, TestResourceType, wrapper, type TestValue } from './test-resource';

/** A turn of the event loop on a fake clock. */
const TURN_MS = 1;

/** Takes one slice of time for each `+` in a value before it is decoded. */
class SlicedType extends TestResourceType {
  /** How many parts have been decoded. */
  parts = 0;

  constructor(private readonly clock: Clock & { advance(ms: number): void }) {
    super('Sliced', false);
  }

  override decode(bytes: Uint8Array, context: DecodeContext<TestValue>): Decoding<TestValue> {
    let left = Buffer.from(bytes).toString().split('+').length - 1;
    if (left === 0) return this.decodeNow(bytes, context);
    const next = () => {
      if (left-- === 0) return this.decodeNow(bytes, context);
      this.parts++;
      this.clock.advance(READ_SLICE_MS);
      return undefined;
    };
    return { next };
  }
}

function start(h = new Harness()) {
  const type = new SlicedType(h.clock);
  const a = h.watch(type, 'a');
  const b = h.watch(type, 'b');
  const next = () => h.clock.advance(TURN_MS);
  return { h, type, a, b, next };
}

describe('a response that takes long to decode', () => {
  it('is answered and notified when all of it is decoded, and the next one is read then', () => {
    const { h, type, a, next } = start();
    h.send(type, '1', { a: 'one' });
    const requests = h.stream.requests.length;
    h.send(type, '2', { a: 'two++' });
    for (const parts of [1, 2]) {
      expect(type.parts).toBe(parts);
      expect(a.values).toEqual([{ text: 'one' }]);
      expect(h.client.snapshot().resources[0]?.accepted?.version).toBe('1');
      expect(h.stream.credits).toBe(0);
      expect(h.stream.requests).toHaveLength(requests);
      next();
    }
    expect(a.values).toEqual([{ text: 'one' }, { text: 'two++' }]);
    expect(h.stream.credits).toBe(1);
    expect(h.stream.requests).toHaveLength(requests + 1);
    expect(h.stream.request).toMatchObject({ versionInfo: '2', responseNonce: 'n2' });
  });

  it('is applied as one although it has two large resources', () => {
    const { h, type, a, b, next } = start();
    h.send(type, '1', { a: 'one+', b: 'two+' });
    next();
    expect(type.decoded).toEqual(['a']);
    expect([...a.told, ...b.told]).toEqual([]);
    next();
    expect([...a.told, ...b.told]).toEqual(['value one+', 'value two+']);
    expect(h.stream.requests.filter(({ responseNonce }) => responseNonce === 'n1')).toHaveLength(1);
  });

  it('is rejected when all of it is decoded, and the last value stays in use', () => {
    const { h, type, a, b, next } = start();
    h.send(type, '1', { a: 'one' });
    h.send(type, '2', { a: '!bad+', b: 'two+' });
    next();
    expect(h.stream.request.errorDetail).toBeUndefined();
    next();
    const nacks = h.stream.requests.filter(({ errorDetail }) => errorDetail !== undefined);
    expect(nacks).toMatchObject([
      { versionInfo: '1', responseNonce: 'n2', errorDetail: { message: 'Sliced "a": bad+' } },
    ]);
    expect(a.values).toEqual([{ text: 'one' }]);
    expect(b.values).toEqual([{ text: 'two+' }]);
  });

  it('waits in the connection behind one that is being decoded', () => {
    const { h, type, a, next } = start();
    h.send(type, '1', { a: 'one++' });
    h.send(type, '2', { a: 'two' });
    next();
    expect(a.told).toEqual([]);
    next();
    expect(a.told).toEqual(['value one++', 'value two']);
    expect(h.stream.request).toMatchObject({ versionInfo: '2', responseNonce: 'n2' });
  });

  it('is not decoded further when the resource is no longer watched, and is acknowledged', () => {
    const { h, type, a, b, next } = start();
    h.send(type, '1', { a: 'one+++', b: 'two' });
    a.release();
    next();
    expect(type.parts).toBe(1);
    expect(type.decoded).toEqual(['b']);
    expect(a.told).toEqual([]);
    expect(b.told).toEqual(['value two']);
    expect(h.stream.request).toMatchObject({ versionInfo: '1', responseNonce: 'n1' });
    expect(h.stream.credits).toBe(1);
  });

  it('is decoded for a target that begins to watch the resource meanwhile', () => {
    const { h, type, a, next } = start();
    h.send(type, '1', { a: 'one+' });
    const other = h.watch(type, 'a', new RecordingWatcher(), h.clientOf('xds:///other'));
    a.release();
    next();
    expect(other.told).toEqual(['value one+']);
    expect(a.told).toEqual([]);
  });

  it('is dropped when the client closes', () => {
    const { h, type, a, b } = start();
    h.send(type, '1', { a: 'one++' });
    a.release();
    b.release();
    h.client.close();
    h.clock.flush();
    expect(h.clock.pendingTimers).toBe(0);
    h.clock.advance(1000);
    expect(type.parts).toBe(1);
  });

  it('does not delay requests for other resources', () => {
    const { h, type, next } = start();
    h.send(type, '1', { a: 'one++' });
    h.watch(h.listener, 'l');
    expect(h.stream.request).toMatchObject({
      typeUrl: h.listener.typeUrl,
      resourceNames: ['l'],
      responseNonce: '',
    });
    next();
    next();
    expect(h.stream.request).toMatchObject({ typeUrl: type.typeUrl, responseNonce: 'n1' });
  });

  it('does not let a resource that is being decoded be concluded to be missing', () => {
    const { h, type, a, next } = start();
    h.clock.advance(15_000 - READ_SLICE_MS);
    h.send(type, '1', { a: 'one++' });
    h.clock.advance(0);
    next();
    next();
    expect(a.told).toEqual(['value one++']);
  });

  it('delays the conclusion that another resource is missing until it is decoded', () => {
    const { h, type, a, b, next } = start();
    h.clock.advance(15_000 - READ_SLICE_MS);
    h.send(type, '1', { a: 'one++' });
    h.clock.advance(0);
    expect(h.client.waitingFor()[1]).toContain('giving up in 0.0 s');
    next();
    expect(b.told).toEqual([]);
    next();
    expect(a.told).toEqual(['value one++']);
    expect(b.errors).toMatchObject([{ kind: 'does-not-exist' }]);
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('is decoded in the same way from an incremental server', () => {
    const h = new DeltaHarness();
    const { type, a, next } = start(h);
    h.sendDelta(type, '1', { a: 'one+' });
    expect(a.told).toEqual([]);
    expect(h.stream.credits).toBe(0);
    next();
    expect(a.told).toEqual(['value one+']);
    expect(h.stream.deltaRequests.at(-1)).toMatchObject({ responseNonce: 'n1' });
    expect(h.stream.credits).toBe(1);
  });
});

/** Takes one slice of time for each resource, which is decoded at once. */
class SlowType extends TestResourceType {
  constructor(
    private readonly clock: Clock & { advance(ms: number): void },
    isComplete: boolean,
  ) {
    super('Slow', isComplete);
  }

  override decodeNow(bytes: Uint8Array, context: DecodeContext<TestValue>): Decoded<TestValue> {
    this.clock.advance(READ_SLICE_MS);
    return super.decodeNow(bytes, context);
  }
}

/** Makes a response large: there is a break after the resource that has it, and after each of those that follow. */
const LARGE = 'x'.repeat(LARGE_RESPONSE_BYTES);

const OVERDUE_MS = 8750;
const TIMEOUT_MS = 15_000;

/** A client that has received `a` and `b` of a type, and waits for the rest. */
function startSlow<H extends Harness>(h: H, isComplete = true) {
  const type = new SlowType(h.clock, isComplete);
  const a = h.watch(type, 'a');
  const b = h.watch(type, 'b');
  if (h instanceof DeltaHarness) h.sendDelta(type, '1', { a: 'one', b: 'one' });
  else h.send(type, '1', { a: 'one', b: 'one' });
  for (const watcher of [a, b]) watcher.take();
  type.decoded.length = 0;
  const next = () => h.clock.advance(TURN_MS);
  const readOn = () => {
    while (h.stream.credits === 0) next();
  };
  return { h, type, a, b, next, readOn };
}

describe('a response with many resources', () => {
  it('is read with breaks, applied as one, and answered then', () => {
    const { h, type, a, b, next } = startSlow(new Harness());
    h.send(type, '2', { a: LARGE, b: 'two' });
    expect(type.decoded).toEqual(['a']);
    expect([h.stream.credits, h.stream.request.responseNonce]).toEqual([0, 'n1']);
    next();
    expect(type.decoded).toEqual(['a', 'b']);
    expect([a.told, b.told]).toEqual([[], []]);
    next();
    expect([a.values.at(-1), b.values.at(-1)]).toEqual([{ text: LARGE }, { text: 'two' }]);
    expect([h.stream.credits, h.stream.request.responseNonce]).toEqual([1, 'n2']);
  });

  it('is read with breaks however small and unwanted the resources are', () => {
    const { h, type, readOn, a } = startSlow(new Harness());
    const unwanted = Array.from({ length: LARGE_RESPONSE_RESOURCES }, (_, i) => [`u${i}`, '']);
    h.send(type, '2', { ...Object.fromEntries(unwanted), a: 'two', b: 'two' });
    expect(type.decoded).toEqual(['a']);
    readOn();
    expect(a.told).toEqual(['value two']);
  });

  it('is read without a break if it is small', () => {
    const { h, type, b } = startSlow(new Harness());
    h.send(type, '2', { a: 'two', b: 'two' });
    expect(b.told).toEqual(['value two']);
    h.clock.advance(TURN_MS);
    expect(h.stream.credits).toBe(1);
  });

  // 1. A response arrives. 2. A name is requested in a break. 3. The rest is read, which lists all that exists, but not
  // that name: it may have been sent before the request arrived, which the server may have missed.
  it('leaves out nothing that is requested in a break', () => {
    const { h, type, readOn } = startSlow(new Harness());
    h.send(type, '2', { a: LARGE, b: 'two' });
    const late = h.watch(type, 'late');
    readOn();
    h.clock.advance(OVERDUE_MS);
    expect(late.told).toEqual([]);
    expect(h.server.streams).toHaveLength(2);
    expect(h.stream.request.resourceNames).toEqual(['a', 'b', 'late']);
  });

  it('removes a resource that is left out, although others are requested in a break', () => {
    const { h, type, b, readOn } = startSlow(new Harness());
    h.send(type, '2', { a: LARGE });
    h.watch(type, 'late');
    readOn();
    expect(b.told).toEqual([expect.stringContaining('error Slow "b": no such resource')]);
  });

  it('gives a resource that is requested in a break its value, if that has not been passed over', () => {
    const { h, type, readOn } = startSlow(new Harness());
    h.send(type, '2', { early: '', a: LARGE, b: 'two', late: 'two' });
    const early = h.watch(type, 'early');
    const late = h.watch(type, 'late');
    readOn();
    expect([early.told, late.told]).toEqual([[], ['value two']]);
  });

  it('repeats a name that is requested in a break if it is rejected, although it contains the resource', () => {
    const { h, type, readOn } = startSlow(new Harness());
    h.send(type, '2', { a: LARGE, b: '!bad', late: 'two' });
    h.watch(type, 'late');
    readOn();
    const answers = h.stream.requests.filter(({ responseNonce }) => responseNonce === 'n2');
    expect(answers.map(({ errorDetail }) => errorDetail?.message)).toEqual([
      'Slow "b": bad',
      undefined,
    ]);
    expect(answers[1]?.resourceNames).toEqual(['a', 'b', 'late']);
  });

  it('does not remove a resource that is released and requested again in a break', () => {
    const { h, type, b, readOn } = startSlow(new DeltaHarness(), false);
    h.sendDelta(type, '2', { a: LARGE }, ['b']);
    b.release();
    const again = h.watch(type, 'b');
    readOn();
    expect(again.told).toEqual([]);
    h.sendDelta(type, '3', { b: 'three' });
    expect(again.told).toEqual(['value three']);
  });

  // The heartbeat is about a value that the client does not have any more.
  it('does not end the wait for a resource that is released and requested again in a break', () => {
    const { h, type, b, readOn } = startSlow(new DeltaHarness(), false);
    h.stream.respondDelta({
      typeUrl: type.typeUrl,
      resources: [
        wrapper('b', undefined, { version: '1', ttl: seconds(5) }),
        wrapper('a', type.resource('a', LARGE), { version: '2' }),
      ],
    });
    b.release();
    const again = h.watch(type, 'b');
    readOn();
    h.clock.advance(TIMEOUT_MS / 2);
    const other = h.watch(type, 'b', new RecordingWatcher(), h.clientOf('xds:///other'));
    expect([again.told, other.told]).toEqual([[], []]);
    h.clock.advance(TIMEOUT_MS / 2);
    expect(again.told).toEqual([expect.stringContaining('did not send it within 15 s')]);
  });

  it('ends no wait before all of it is read', () => {
    const { h, type, readOn } = startSlow(new Harness(), false);
    const last = h.watch(type, 'last');
    const missing = h.watch(type, 'missing');
    const other = h.watch(h.endpoints, 'other');
    h.clock.advance(OVERDUE_MS);
    h.clock.advance(TIMEOUT_MS - OVERDUE_MS - READ_SLICE_MS);
    h.send(type, '2', { a: LARGE, last: 'two' });
    expect(type.decoded).toEqual(['a']);
    expect([last.told, missing.told, other.told]).toEqual([[], [], []]);
    readOn();
    expect(last.told).toEqual(['value two']);
    for (const { told } of [missing, other]) {
      expect(told).toEqual([expect.stringContaining('did not send it within 15 s')]);
    }
  });

  it('is not dropped for a resource that is overdue in a break', () => {
    const { h, type, a, readOn } = startSlow(new Harness(), false);
    h.watch(type, 'overdue');
    h.clock.advance(OVERDUE_MS - READ_SLICE_MS);
    h.send(type, '2', { a: LARGE, b: 'two' });
    expect(h.server.streams).toHaveLength(1);
    readOn();
    expect(a.values.at(-1)).toEqual({ text: LARGE });
    expect(h.server.streams).toHaveLength(2);
  });

  it('is dropped when the stream fails, and sent again on the next one', () => {
    const { h, type, a, b, readOn } = startSlow(new Harness(), false);
    const last = h.watch(type, 'last');
    h.clock.advance(2 * TIMEOUT_MS - OVERDUE_MS);
    last.take();
    const { stream } = h;
    h.send(type, '2', { a: LARGE, b: 'two', last: 'two' });
    stream.end(14, 'gone');
    h.clock.advance(1000);
    expect([a.told, b.told, last.told]).toEqual([[], [], []]);
    h.send(type, '2', { a: LARGE, b: 'two', last: 'two' });
    readOn();
    expect(last.told).toEqual(['value two']);
  });
});
