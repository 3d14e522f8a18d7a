import { DeltaHarness, Harness, serverConfig, type HarnessOptions } from './harness';

const SERVER = 'management server xds.test:1 (node "node-1")';

// The tests' randomness is 0.5: the wait for a second question is 8.75 s of 15 s.
const OVERDUE_MS = 8750;

/** A client on a stream that has answered, and has had one name of a type asked for. */
function usedStream(options: HarnessOptions = {}): Harness {
  const h = new Harness(options);
  h.watch(h.endpoints, 'other');
  h.send(h.endpoints, '1', { other: 'one' });
  h.clock.advance(60_000);
  return h;
}

describe('a resource that is requested in the course of a stream and not received', () => {
  // 1. It is asked for. 2. It is overdue, and asked for on a new stream. 3. It comes.
  it('is requested again on a new stream, together with everything else', () => {
    const h = usedStream();
    const watcher = h.watch(h.endpoints, 'lost');
    h.clock.advance(OVERDUE_MS - 1);
    expect(h.server.streams).toHaveLength(1);
    h.clock.advance(1);
    expect(h.server.streams.map(({ isOpen }) => isOpen)).toEqual([false, true]);
    expect(h.stream.requests).toMatchObject([
      { resourceNames: ['other', 'lost'], versionInfo: '1', responseNonce: '', node: {} },
    ]);
    expect(h.logger.errors).toEqual([
      expect.stringContaining('Endpoints "lost": waiting for 5.0 s'),
    ]);
    expect(h.logger.infos).toEqual([
      `Endpoints "lost": ${SERVER} has not sent it yet; requested again on a new stream`,
    ]);
    h.send(h.endpoints, '1', { other: 'one', lost: 'two' });
    expect(watcher.told).toEqual(['value two']);
    expect(h.logger.infos.slice(1)).toEqual(['Endpoints "lost": received after 8.8 s']);
    expect(h.clock.pendingTimers).toBe(0);
    expect(h.server.openConnections).toBe(1);
  });

  it('is concluded to be missing at the same time as without the new stream, and requested again once only', () => {
    const h = usedStream();
    const watcher = h.watch(h.endpoints, 'lost');
    h.clock.advance(14_999);
    expect(watcher.told).toEqual([]);
    expect(h.client.waitingFor()).toEqual([expect.stringContaining('giving up in 0.0 s')]);
    h.clock.advance(1);
    expect(watcher.told).toEqual([
      `error Endpoints "lost": no such resource: ${SERVER} did not send it within 15 s: check the name, and that the server has it for this node`,
    ]);
    h.clock.advance(600_000);
    expect(h.server.streams).toHaveLength(2);
  });

  it('has at least a third of its time on the new stream, however long that takes to come about', () => {
    const h = usedStream();
    h.server.isReachable = false;
    const watcher = h.watch(h.endpoints, 'lost');
    h.stream.confirmSent();
    h.clock.advance(OVERDUE_MS);
    h.clock.advance(15_000);
    h.stream.confirmSent();
    h.clock.advance(4_999);
    expect(watcher.told).toEqual([]);
    h.clock.advance(1);
    expect(watcher.told).toHaveLength(1);
  });

  it('has all its time on a stream that comes after a failure', () => {
    const h = usedStream();
    const watcher = h.watch(h.endpoints, 'lost');
    h.clock.advance(OVERDUE_MS);
    h.stream.end();
    watcher.take();
    h.clock.advance(1000);
    h.clock.advance(14_999);
    expect(watcher.take()).toEqual([]);
    h.clock.advance(1);
    expect(watcher.take()).toHaveLength(1);
  });

  it('is late only with resource_timer_is_transient_error, in twice the time', () => {
    const servers = [serverConfig('xds.test:1', ['resource_timer_is_transient_error'])];
    const h = usedStream({ servers, dataErrorHandling: true });
    const watcher = h.watch(h.endpoints, 'lost');
    h.clock.advance(2 * OVERDUE_MS);
    expect(h.server.streams).toHaveLength(2);
    h.clock.advance(30_000 - 2 * OVERDUE_MS);
    expect(watcher.errors).toMatchObject([{ kind: 'timeout' }]);
  });

  it('shares one new stream with all others that are overdue, and none comes soon after', () => {
    const h = usedStream();
    for (const name of ['l1', 'l2', 'l3']) h.watch(h.endpoints, name);
    h.clock.advance(OVERDUE_MS);
    expect(h.server.streams).toHaveLength(2);
    h.send(h.endpoints, '1', { other: 'one' });
    h.watch(h.endpoints, 'l4');
    h.clock.advance(15_000);
    expect(h.server.streams).toHaveLength(2);
    h.clock.advance(15_000);
    h.watch(h.endpoints, 'l5');
    h.clock.advance(15_000);
    expect(h.server.streams).toHaveLength(3);
  });

  it.each(['listener', 'endpoints'] as const)(
    'is asked for again unless a complete response came after the question (%s)',
    (kind) => {
      const h = usedStream();
      const type = h[kind];
      h.watch(type, 'first');
      h.send(type, '1', { first: 'one' });
      h.watch(type, 'lost');
      h.send(type, '2', { first: 'two' });
      h.clock.advance(15_000);
      expect(h.server.streams).toHaveLength(type.allResourcesRequiredInSotw ? 1 : 2);
    },
  );

  it('is not requested again when it was received or is not watched any more', () => {
    const h = usedStream();
    h.watch(h.endpoints, 'comes');
    const goes = h.watch(h.endpoints, 'goes');
    h.send(h.endpoints, '2', { comes: 'one' });
    goes.release();
    h.clock.advance(60_000);
    expect(h.server.streams).toHaveLength(1);
  });

  it('is requested again on an incremental stream, too, with the versions that are cached', () => {
    const h = new DeltaHarness();
    h.watch(h.listener, 'there');
    h.sendDelta(h.listener, '1', { there: 'one' });
    const watcher = h.watch(h.listener, 'lost');
    h.clock.advance(OVERDUE_MS);
    expect(h.server.streams).toHaveLength(2);
    expect(h.stream.deltaRequests).toMatchObject([
      {
        resourceNamesSubscribe: ['there', 'lost'],
        initialResourceVersions: new Map([['there', '1']]),
      },
    ]);
    h.sendDelta(h.listener, '1', { lost: 'two' });
    expect(watcher.told).toEqual(['value two']);
  });
});

describe('no second stream is opened for', () => {
  it('what a stream began with', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'a');
    h.watch(h.listener, 'b');
    h.send(h.endpoints, '1', {});
    h.clock.advance(60_000);
    expect(h.server.streams).toHaveLength(1);
  });

  it('the first name of a type', () => {
    const h = usedStream();
    h.watch(h.listener, 'a');
    h.clock.advance(60_000);
    expect(h.server.streams).toHaveLength(1);
  });

  it('a resource that is requested on a stream without a response', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'a');
    h.watch(h.endpoints, 'b');
    h.clock.advance(60_000);
    expect(h.server.streams).toHaveLength(1);
  });
});
