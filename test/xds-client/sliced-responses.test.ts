import type { Clock } from '../../src/util/clock';
import type { Steps } from '../../src/util/steps';
import { READ_BREAK_MS, READ_SLICE_MS } from '../../src/xds-client/limits';
import type { DecodeContext, Decoded } from '../../src/xds-client/resource-type';
import { DeltaHarness, Harness, RecordingWatcher } from './harness';
import { TestResourceType, type TestValue } from './test-resource';

/** Takes one slice of time for each `+` in a value before it is decoded. */
class SlicedType extends TestResourceType {
  /** How many steps have been taken. */
  steps = 0;

  constructor(private readonly clock: Clock & { advance(ms: number): void }) {
    super('Sliced', false);
  }

  *decodeInSteps(bytes: Uint8Array, context: DecodeContext<TestValue>): Steps<Decoded<TestValue>> {
    const count = Buffer.from(bytes).toString().split('+').length - 1;
    for (let i = 0; i < count; i++) {
      this.steps++;
      this.clock.advance(READ_SLICE_MS);
      yield;
    }
    return this.decode(bytes, context);
  }
}

function start(h = new Harness()) {
  const type = new SlicedType(h.clock);
  const a = h.watch(type, 'a');
  const b = h.watch(type, 'b');
  const next = () => h.clock.advance(READ_BREAK_MS);
  return { h, type, a, b, next };
}

describe('a response that takes long to decode', () => {
  it('is answered and notified when all of it is decoded, and the next one is read then', () => {
    const { h, type, a, next } = start();
    h.send(type, '1', { a: 'one' });
    const requests = h.stream.requests.length;
    h.send(type, '2', { a: 'two++' });
    for (const steps of [1, 2]) {
      expect(type.steps).toBe(steps);
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

  it('is not interrupted if it is small', () => {
    const { h, type, a } = start();
    h.send(type, '1', { a: 'one' });
    expect(a.values).toEqual([{ text: 'one' }]);
    expect(h.stream.credits).toBe(1);
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
    expect(type.steps).toBe(1);
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

  it('is dropped when the stream ends, and sent again on the next one', () => {
    const { h, type, a, next } = start();
    h.send(type, '1', { a: 'one' });
    const { stream } = h;
    h.send(type, '2', { a: 'two++' });
    stream.end(14, 'gone');
    h.clock.advance(1000);
    next();
    expect(type.steps).toBe(1);
    expect(a.values).toEqual([{ text: 'one' }]);
    expect(h.stream).not.toBe(stream);
    expect(h.stream.request).toMatchObject({ versionInfo: '1', responseNonce: '' });
    h.send(type, '2', { a: 'two++' });
    for (let i = 0; i < 2; i++) next();
    expect(a.values).toEqual([{ text: 'one' }, { text: 'two++' }]);
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
    expect(type.steps).toBe(1);
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
