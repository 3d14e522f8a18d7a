import type { Handle } from '../../src/util/handle';
import { Harness, RecordingWatcher } from './harness';
import { TestResourceType } from './test-resource';

const SERVER = 'management server xds.test:1 (node "node-1")';

describe('watching', () => {
  it('notifies two watchers of one resource of the same', () => {
    const h = new Harness();
    const first = h.watch(h.listener, 'a');
    const second = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    first.release();
    h.send(h.listener, '2', { a: 'two' });
    expect(first.told).toEqual(['value one']);
    expect(second.told).toEqual(['value one', 'value two']);
    expect(second.values[0]).toBe(first.values[0]);
  });

  it('notifies only of what changed, and decodes nothing else', () => {
    const h = new Harness();
    const a = h.watch(h.endpoints, 'a');
    const b = h.watch(h.endpoints, 'b');
    h.send(h.endpoints, '1', { a: 'one', b: 'two' });
    h.send(h.endpoints, '2', { a: 'one', b: 'TWO' });
    expect(a.told).toEqual(['value one']);
    expect(b.told).toEqual(['value two', 'value TWO']);
    expect(h.endpoints.decoded).toEqual(['a', 'b', 'b']);
    const versions = h.client.snapshot().resources.map(({ accepted }) => accepted?.version);
    expect(versions).toEqual(['2', '2']);
  });

  it('notices an update that only adds to the bytes, and one that only takes away', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'a');
    for (const value of ['one', 'one and more', 'one']) h.send(h.endpoints, '1', { a: value });
    expect(watcher.told).toEqual(['value one', 'value one and more', 'value one']);
  });

  it('offers the decoder the value in use, so that it can be shared, and the server', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'a');
    h.send(h.endpoints, '1', { a: 'one' });
    expect(h.endpoints.lastPrevious).toBeUndefined();
    h.send(h.endpoints, '2', { a: 'two' });
    expect(h.endpoints.lastPrevious).toBe(watcher.values[0]);
    expect(h.endpoints.lastServerUri).toBe('xds.test:1');
  });

  it('keeps a copy of the bytes instead of a piece of the response', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one', huge: 'x'.repeat(100_000) });
    const bytes = h.client.snapshot().resources[0]?.accepted?.bytes;
    expect(bytes?.buffer.byteLength).toBe('a\none'.length);
  });

  it('refuses two different types with one type URL', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    const impostor = new TestResourceType('Listener', false);
    expect(() => h.client.watch(impostor, 'a', new RecordingWatcher())).toThrow(
      'two different resource types claim the type URL type.googleapis.com/test.Listener',
    );
  });
});

describe('a watcher of a resource that cannot be had', () => {
  it('receives the node id in every error', () => {
    const h = new Harness();
    const rejected = h.watch(h.listener, 'rejected');
    const removed = h.watch(h.listener, 'removed');
    const missing = h.watch(h.endpoints, 'missing');
    const malformed = h.watch(h.endpoints, 'xdstp://a');
    h.send(h.listener, '1', { rejected: '!bad', removed: 'one' });
    h.send(h.listener, '2', { rejected: '!bad' });
    h.clock.advance(15_000);
    const cutOff = h.watch(h.endpoints, 'cut off');
    h.stream.end();
    h.stream.end();
    const told = [rejected, removed, missing, malformed, cutOff].map(({ errors }) => errors.at(-1));
    expect(told.map((error) => error?.kind)).toEqual([
      'invalid',
      'does-not-exist',
      'does-not-exist',
      'bad-name',
      'unreachable',
    ]);
    for (const error of told) expect(error?.message).toContain('(node "node-1")');
  });
});

describe('a watcher that comes late', () => {
  it('is notified of the value at once, without a request', () => {
    const h = new Harness();
    const first = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.stream.clearRequests();
    const late = h.watch(h.listener, 'a');
    expect(late.told).toEqual(['value one']);
    expect(late.values[0]).toBe(first.values[0]);
    expect(h.stream.requests).toEqual([]);
    expect(first.told).toEqual(['value one']);
  });

  it('is notified of the value and the ambient error', () => {
    const h = new Harness();
    const first = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.listener, '2', { a: '!bad' });
    expect(h.watch(h.listener, 'a').told).toEqual([
      'value one',
      `ambient Listener "a": update from ${SERVER} rejected (NACK): bad`,
    ]);
    expect(first.told).toHaveLength(2);
  });

  it('is notified of a resource known not to exist', () => {
    const h = new Harness();
    const first = h.watch(h.listener, 'a');
    h.clock.advance(15_000);
    expect(h.watch(h.listener, 'a').told).toEqual(first.told);
    expect(first.told).toHaveLength(1);
  });

  it('is notified of a resource that was rejected', () => {
    const h = new Harness();
    const first = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: '!bad' });
    expect(h.watch(h.listener, 'a').told).toEqual(first.told);
    expect(first.told).toHaveLength(1);
  });

  it('is notified that the server cannot be reached, for a new resource as well', () => {
    const h = new Harness();
    const first = h.watch(h.listener, 'a');
    h.stream.end();
    const late = h.watch(h.listener, 'a');
    const other = h.watch(h.endpoints, 'e');
    expect(first.told).toEqual([
      `error Listener "a": ${SERVER} cannot be reached: connection refused`,
    ]);
    expect(late.told).toEqual(first.told);
    expect(other.told).toEqual([
      `error Endpoints "e": ${SERVER} cannot be reached: connection refused`,
    ]);
  });

  it('is not notified of a pending resource', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    expect(h.watch(h.listener, 'a').told).toEqual([]);
  });
});

describe('a watcher that calls back', () => {
  it('may watch and release while it is notified', () => {
    const h = new Harness();
    const inner = new RecordingWatcher();
    const handles: Handle[] = [];
    const outer = h.watch(
      h.listener,
      'a',
      new RecordingWatcher(() => {
        handles.push(h.client.watch(h.endpoints, 'e', inner));
        handles.shift()?.release();
        handles.push(h.client.watch(h.endpoints, 'e', inner));
      }),
    );
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.endpoints, '1', { e: 'first' });
    h.send(h.listener, '2', { a: 'two' });
    expect(outer.told).toEqual(['value one', 'value two']);
    expect(inner.told.slice(0, 2)).toEqual(['value first', 'value first']);
    expect(h.client.snapshot().resources.map(({ watchers }) => watchers)).toEqual([1, 2]);
  });

  it('is not notified after its release of what was in the queue', () => {
    const h = new Harness();
    const second = new RecordingWatcher();
    const handles: Handle[] = [];
    h.watch(h.listener, 'a', new RecordingWatcher(() => handles[0]?.release()));
    handles.push(h.client.watch(h.listener, 'a', second));
    h.send(h.listener, '1', { a: 'one' });
    expect(second.told).toEqual([]);
  });

  it('is notified after `watch` has returned when it is called from the queue', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    const order: string[] = [];
    h.client.run(() => {
      h.client.watch(h.listener, 'a', new RecordingWatcher(() => order.push('told')));
      order.push('returned');
    });
    expect(order).toEqual(['returned', 'told']);
  });

  it('does not affect others by throwing', () => {
    const h = new Harness();
    h.expectsBugs = true;
    h.watch(
      h.listener,
      'a',
      new RecordingWatcher(() => {
        throw new Error('watcher is broken');
      }),
    );
    const other = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    expect(other.told).toEqual(['value one']);
    expect(h.stream.request).toMatchObject({ versionInfo: '1', responseNonce: 'n1' });
    expect(h.logger.errors).toHaveLength(1);
    expect(h.logger.errors[0]).toMatch(
      /^unexpected error in the xDS client: Error: watcher is broken\n/,
    );
  });
});
