import { Harness, serverConfig } from './harness';

const SERVER = 'management server xds.test:1 (node "node-1")';

describe('a resource that a complete response leaves out', () => {
  it('is gone, and back when it is sent again unchanged', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    const other = h.watch(h.listener, 'b');
    h.send(h.listener, '1', { a: 'one', b: 'two' });
    h.send(h.listener, '2', { b: 'two' });
    expect(h.client.snapshot().resources[0]).toMatchObject({
      status: 'DOES_NOT_EXIST',
      accepted: undefined,
    });
    h.send(h.listener, '3', { a: 'one', b: 'two' });
    expect(watcher.told).toEqual([
      'value one',
      `error Listener "a": no such resource: ${SERVER} has removed it: add it there, or change what refers to it`,
      'value one',
    ]);
    expect(watcher.errors[0]?.kind).toBe('does-not-exist');
    expect(other.told).toEqual(['value two']);
  });

  it('is gone even if all there was of it was a rejected version', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: '!bad' });
    h.send(h.listener, '2', {});
    expect(watcher.told.at(-1)).toBe(
      `error Listener "a": no such resource: ${SERVER} has removed it: add it there, or change what refers to it`,
    );
  });

  it('stays when the response has a resource that might be it', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.stream.respond({
      typeUrl: h.listener.typeUrl,
      versionInfo: '2',
      resources: [{ typeUrl: h.listener.typeUrl, value: Buffer.from('garbage') }],
    });
    expect(h.stream.request.errorDetail?.message).toBe('resources[0]: no line break');
    expect(watcher.told).toEqual(['value one']);
  });

  it('stays when it is there and not valid', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.listener, '2', { a: '!bad' });
    expect(watcher.told).toEqual([
      'value one',
      `ambient Listener "a": update from ${SERVER} rejected (NACK): bad`,
    ]);
  });
});

describe('a resource of a type whose responses may be partial', () => {
  it('stays when it is left out', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'a');
    h.watch(h.endpoints, 'b');
    h.send(h.endpoints, '1', { a: 'one' });
    h.send(h.endpoints, '2', { b: 'two' });
    expect(watcher.told).toEqual(['value one']);
  });
});

describe('with ignore_resource_deletion', () => {
  const servers = [serverConfig('xds.test:1', ['ignore_resource_deletion'])];

  // 1. A value. 2. It is left out, twice. 3. It comes back changed.
  it('a resource that is left out stays in use, which is logged once, and so is its return', () => {
    const h = new Harness({ servers });
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.listener, '2', {});
    h.send(h.listener, '3', {});
    expect(h.logger.errors).toEqual([
      `Listener "a": removed by ${SERVER}, kept (ignore_resource_deletion)`,
    ]);
    expect(watcher.take()).toEqual(['value one']);
    expect(h.watch(h.listener, 'a').told).toEqual(['value one']);
    h.send(h.listener, '4', { a: 'two' });
    expect(watcher.take()).toEqual(['value two']);
    expect(h.logger.infos).toEqual(['Listener "a": sent again after its removal']);
  });

  it('its end is logged when it is not watched any more', () => {
    const h = new Harness({ servers });
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.listener, '2', {});
    watcher.release();
    expect(h.logger.infos).toEqual(['Listener "a": no longer watched after its removal']);
  });
});
