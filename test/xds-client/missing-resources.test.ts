import { Harness, serverConfig } from './harness';

const SERVER = 'management server xds.test:1 (node "node-1")';
const UNANSWERED = 'and has not answered this node at all: is node.id known to the server?';

describe('a resource that is requested and not received', () => {
  it('is concluded not to exist 15 s after the request was sent', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.clock.advance(14_999);
    expect(watcher.told).toEqual([]);
    h.clock.advance(1);
    expect(watcher.told).toEqual([
      `error Listener "a": no such resource: ${SERVER} did not send it within 15 s ${UNANSWERED}`,
    ]);
    expect(watcher.errors[0]?.kind).toBe('does-not-exist');
    expect(h.client.snapshot().resources[0]?.status).toBe('DOES_NOT_EXIST');
  });

  it('has no hint about the node when the server has answered something else', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'missing');
    h.watch(h.endpoints, 'there');
    h.send(h.endpoints, '1', { there: 'one' });
    h.clock.advance(15_000);
    expect(watcher.told).toEqual([
      `error Endpoints "missing": no such resource: ${SERVER} did not send it within 15 s: check the name, and that the server has it for this node`,
    ]);
  });

  it('is not said to have been removed by a server that answers without it later', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.clock.advance(15_000);
    h.send(h.listener, '1', {});
    expect(watcher.errors.at(-1)?.message).toMatch(
      `Listener "a": no such resource: ${SERVER} does not have it: check the name, and that the server has it for this node`,
    );
  });

  it('shares its timer with everything that was requested together', () => {
    const h = new Harness();
    const watchMany = (prefix: string) => {
      const names = Array.from({ length: 200 }, (_, i) => `${prefix}${i}`);
      h.client.run(() => {
        for (const name of names) h.watch(h.endpoints, name);
      });
      h.clock.flush();
    };
    watchMany('a');
    h.send(h.endpoints, '1', { a0: 'one' });
    watchMany('b');
    // One for each request, one to request the second 200 again, and one for the log.
    expect(h.clock.pendingTimers).toBe(4);
    h.clock.advance(9000);
    expect(h.server.streams).toHaveLength(2);
    expect(h.clock.pendingTimers).toBe(1);
    h.clock.advance(6000);
    const statuses = h.client.snapshot().resources.map(({ status }) => status);
    expect(statuses.filter((status) => status === 'DOES_NOT_EXIST')).toHaveLength(399);
  });

  it('is not waited for before the request has been sent', () => {
    const h = new Harness();
    h.server.isReachable = false;
    const watcher = h.watch(h.listener, 'a');
    h.clock.advance(100_000);
    expect(h.clock.pendingTimers).toBe(0);
    h.stream.confirmSent();
    h.clock.advance(14_999);
    expect(watcher.told).toEqual([]);
    h.clock.advance(1);
    expect(watcher.told).toHaveLength(1);
  });

  it('is not waited for while the server is out of reach, and anew on the next stream', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.clock.advance(10_000);
    h.stream.end();
    watcher.take();
    h.server.isReachable = false;
    h.clock.advance(60_000);
    expect(watcher.take()).toEqual([]);
    h.stream.confirmSent();
    h.clock.advance(14_999);
    expect(watcher.take()).toEqual([]);
    h.clock.advance(1);
    expect(watcher.take()).toHaveLength(1);
  });

  it('is waited for anew on a new stream, unlike what has come', () => {
    const h = new Harness();
    const there = h.watch(h.endpoints, 'there');
    const missing = h.watch(h.endpoints, 'missing');
    h.send(h.endpoints, '1', { there: 'one' });
    h.clock.advance(10_000);
    h.stream.end();
    h.clock.advance(14_999);
    expect(missing.told).toEqual([]);
    expect(h.clock.pendingTimers).toBe(1);
    h.clock.advance(1);
    expect(missing.told).toHaveLength(1);
    expect(there.told).toEqual(['value one']);
  });

  it('is no longer waited for once it has come', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    expect(h.clock.pendingTimers).toBe(0);
    h.clock.advance(60_000);
    expect(watcher.told).toEqual(['value one']);
  });

  it('is no longer waited for once it has come and was rejected', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: '!bad' });
    h.clock.advance(60_000);
    expect(watcher.told).toEqual([
      `error Listener "a": update from ${SERVER} rejected (NACK): bad`,
    ]);
  });

  it('is no longer waited for without a watch', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'other');
    h.send(h.endpoints, '1', { other: 'one' });
    const watcher = h.watch(h.listener, 'a');
    expect(h.clock.pendingTimers).toBe(2);
    watcher.release();
    expect(h.clock.pendingTimers).toBe(0);
  });

  // 1. A watch, ended after 10 s. 2. The same name again, and its value. 3. The first timer would be due.
  it('is not declared missing by the timer of an earlier watch', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'other');
    const early = h.watch(h.listener, 'a');
    h.clock.advance(10_000);
    early.release();
    const late = h.watch(h.listener, 'a');
    h.clock.advance(6_000);
    expect([early.told, late.told]).toEqual([[], []]);
    h.send(h.listener, '1', { a: 'one' });
    h.clock.advance(60_000);
    expect([early.told, late.told]).toEqual([[], ['value one']]);
  });

  it('is not timed when it is given up between sending and sent', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'other');
    h.send(h.endpoints, '1', { other: 'one' });
    h.server.isReachable = false;
    h.watch(h.listener, 'a').release();
    h.stream.confirmSent();
    expect(h.clock.pendingTimers).toBe(0);
  });

  it('is passed on when it is received after the timeout', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.clock.advance(15_000);
    watcher.take();
    h.send(h.listener, '1', { a: 'one' });
    expect(watcher.take()).toEqual(['value one']);
  });

  it('is not deleted by a complete response that leaves it out: that may be older than the request', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    const watcher = h.watch(h.listener, 'b');
    h.send(h.listener, '1', { a: 'one' });
    expect(watcher.take()).toEqual([]);
    h.clock.advance(15_000);
    expect(watcher.take()).toHaveLength(1);
  });

  it('is only late after 30 s for a server that says so, with data error handling', () => {
    const servers = [serverConfig('xds.test:1', ['resource_timer_is_transient_error'])];
    const h = new Harness({ servers, dataErrorHandling: true });
    const watcher = h.watch(h.listener, 'a');
    h.clock.advance(29_999);
    expect(watcher.told).toEqual([]);
    h.clock.advance(1);
    expect(watcher.told).toEqual([
      `error Listener "a": timed out: ${SERVER} did not send it within 30 s ${UNANSWERED}`,
    ]);
    expect(watcher.errors[0]?.kind).toBe('timeout');
    expect(h.client.snapshot().resources[0]?.status).toBe('TIMEOUT');
  });
});
