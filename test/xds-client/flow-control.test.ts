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

  it('sends and reads nothing while requests are held, and then requests all names together', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    const holds = [h.client.holdRequests(), h.clientOf('xds:///other').holdRequests()];
    h.watch(h.listener, 'b');
    h.send(h.listener, '1', { a: 'one' });
    h.watch(h.listener, 'c');
    holds[0]?.release();
    holds[0]?.release();
    h.clock.flush();
    expect([h.stream.credits, h.stream.requests.length]).toEqual([0, 1]);
    holds[1]?.release();
    h.clock.flush();
    expect(h.stream.credits).toBe(1);
    expect(h.stream.requests.slice(1).map(({ resourceNames }) => resourceNames)).toEqual([
      ['a', 'b', 'c'],
    ]);
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

  it.each([
    ['is invalid', '!bad'],
    ['lacks its resource', undefined],
  ])(
    'reads on after every watcher was notified of a response that %s, and not before',
    (_what, value) => {
      const h = new Harness();
      const reads: number[] = [];
      const note = () => reads.push(h.stream.credits);
      for (let i = 0; i < 2; i++) h.watch(h.listener, 'a', new RecordingWatcher(note));
      h.watch(h.listener, 'b');
      h.send(h.listener, '1', { a: 'one', b: 'two' });
      reads.length = 0;
      h.send(h.listener, '2', value === undefined ? { b: 'two' } : { a: value, b: 'two' });
      expect(reads).toEqual([0, 0]);
      expect(h.stream.credits).toBe(1);
    },
  );

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
