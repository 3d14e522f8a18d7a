import { Harness, RecordingWatcher } from './harness';

describe('close', () => {
  it('closes every stream and connection and stops every timer', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.watch(h.endpoints, 'e');
    expect(h.clock.pendingTimers).toBe(3);
    h.client.close();
    expect(h.stream.isOpen).toBe(false);
    expect(h.network.openConnections).toBe(0);
    expect(h.clock.pendingTimers).toBe(0);
    expect(h.client.snapshot()).toEqual({ servers: [], resources: [], changes: [] });
  });

  it('ends a backoff', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.stream.end();
    expect(h.clock.pendingTimers).toBe(2);
    h.client.close();
    expect(h.clock.pendingTimers).toBe(0);
    h.clock.advance(60_000);
    expect(h.server.streams).toHaveLength(1);
  });

  it('ends a backoff that has run out and waits in the queue', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.stream.end();
    h.client.run(() => {
      h.client.close();
      h.clock.advance(1000);
    });
    expect(h.server.streams).toHaveLength(1);
  });

  it('may happen twice, before anything was watched, and before a watch is released', () => {
    const h = new Harness();
    const idle = new Harness();
    idle.client.close();
    idle.client.close();
    const watcher = h.watch(h.listener, 'a');
    h.client.close();
    watcher.release();
    expect(watcher.told).toEqual([]);
  });

  it('may happen in the middle of an update, of which no watcher is notified any more', () => {
    const h = new Harness();
    const second = new RecordingWatcher();
    h.watch(h.listener, 'a', new RecordingWatcher(() => h.client.close()));
    h.watch(h.endpoints, 'e', second);
    h.send(h.listener, '1', { a: 'one' });
    expect(h.network.openConnections).toBe(0);
    expect(h.stream.requests).toHaveLength(2);
    expect(second.told).toEqual([]);
  });

  it('leaves later watches without effect', () => {
    const h = new Harness();
    h.client.close();
    const watcher = h.watch(h.listener, 'a');
    watcher.release();
    expect(watcher.told).toEqual([]);
    expect(h.server.streams).toEqual([]);
  });

  it('is not undone by what the transport says late', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.client.close();
    h.stream.callLate();
    h.clock.advance(60_000);
    expect(h.server.streams).toHaveLength(1);
  });
});

describe('the last watch', () => {
  it('takes the connection with it, and the next one makes a new one', () => {
    const h = new Harness();
    h.watch(h.listener, 'a').release();
    expect(h.network.openConnections).toBe(0);
    expect(h.clock.pendingTimers).toBe(0);
    const watcher = h.watch(h.listener, 'a');
    expect(h.network.openConnections).toBe(1);
    expect(h.stream.request).toMatchObject({ versionInfo: '', node: { id: 'node-1' } });
    h.send(h.listener, '1', { a: 'one' });
    expect(watcher.told).toEqual(['value one']);
  });

  it('leaves nothing cached', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'other');
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    watcher.release();
    expect(h.client.snapshot().resources).toHaveLength(1);
    expect(h.watch(h.listener, 'a').told).toEqual([]);
  });
});
