import { Harness, RecordingWatcher } from './harness';

describe('flow control', () => {
  it('reads one response at a time, and the next one only when all watchers have had the last', () => {
    const h = new Harness();
    const order: string[] = [];
    const note = (text: string) => () =>
      order.push(`${text}, ${h.stream.credits} reads, ${h.stream.requests.length} requests`);
    const first = new RecordingWatcher(() => {
      note('first watcher')();
      h.client.run(note('its own task'));
    });
    h.watch(h.listener, 'a', first);
    h.watch(h.listener, 'a', new RecordingWatcher(note('second watcher')));
    expect(h.stream.credits).toBe(1);
    h.send(h.listener, '1', { a: 'one' });
    expect(order).toEqual([
      'first watcher, 0 reads, 1 requests',
      'second watcher, 0 reads, 1 requests',
      'its own task, 0 reads, 1 requests',
    ]);
    expect(h.stream.credits).toBe(1);
    expect(h.stream.requests).toHaveLength(2);
  });

  it('deals with responses that wait in the order they were sent', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.client.run(() => {
      h.send(h.listener, '1', { a: 'one' });
      h.send(h.listener, '2', { a: 'two' });
      h.send(h.listener, '3', { a: 'three' });
    });
    h.clock.flush();
    expect(watcher.told).toEqual(['value one', 'value two', 'value three']);
    expect(h.stream.requests.map(({ responseNonce }) => responseNonce)).toEqual([
      '',
      'n1',
      'n2',
      'n3',
    ]);
  });

  it('keeps reading while a request cannot be sent, and answers the newest response then', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.server.isReachable = false;
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.listener, '2', { a: 'two' });
    h.send(h.listener, '3', { a: '!bad' });
    expect(h.stream.requests).toHaveLength(2);
    h.stream.confirmSent();
    expect(h.stream.requests).toHaveLength(3);
    expect(h.stream.request).toMatchObject({
      versionInfo: '2',
      responseNonce: 'n3',
      errorDetail: { message: 'Listener "a": bad' },
    });
    expect(watcher.values.map(({ text }) => text)).toEqual(['one', 'two']);
  });
});
