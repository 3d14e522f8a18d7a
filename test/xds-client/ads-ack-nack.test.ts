import { Harness } from './harness';

const INVALID_ARGUMENT = 3;
const SERVER = 'management server xds.test:1 (node "node-1")';

describe('acknowledging responses', () => {
  // 1. The first version is valid. 2. The second is not. 3. The third is valid again.
  it('ACKs with the version and the nonce, NACKs with the last accepted version and the new nonce', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    expect(h.stream.request).toMatchObject({
      typeUrl: h.listener.typeUrl,
      versionInfo: '1',
      responseNonce: 'n1',
      resourceNames: ['a'],
      errorDetail: undefined,
    });

    h.send(h.listener, '2', { a: '!port: missing,filters: empty' });
    expect(h.stream.request).toMatchObject({
      versionInfo: '1',
      responseNonce: 'n2',
      resourceNames: ['a'],
      errorDetail: {
        code: INVALID_ARGUMENT,
        message: 'Listener "a": port: missing; Listener "a": filters: empty',
        details: [],
      },
    });

    h.send(h.listener, '3', { a: 'three' });
    expect(h.stream.request).toMatchObject({
      versionInfo: '3',
      responseNonce: 'n3',
      errorDetail: undefined,
    });
    expect(h.stream.requests).toHaveLength(4);
    expect(watcher.told).toEqual([
      'value one',
      `ambient Listener "a": update from ${SERVER} rejected (NACK): port: missing; filters: empty`,
      'value three',
    ]);
  });

  it('NACKs an invalid first response with an empty version', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: '!bad' });
    expect(h.stream.request).toMatchObject({
      versionInfo: '',
      responseNonce: 'n1',
      errorDetail: { code: INVALID_ARGUMENT, message: 'Listener "a": bad' },
    });
    expect(watcher.told).toEqual([
      `error Listener "a": update from ${SERVER} rejected (NACK): bad`,
    ]);
    expect(watcher.errors[0]?.kind).toBe('invalid');
  });

  it('uses what is valid in a response that it NACKs', () => {
    const h = new Harness();
    const good = h.watch(h.endpoints, 'good');
    const bad = h.watch(h.endpoints, 'bad');
    h.send(h.endpoints, '1', { bad: '!broken', good: 'fine' });
    expect(h.stream.request.errorDetail?.message).toBe('Endpoints "bad": broken');
    expect(good.told).toEqual(['value fine']);
    expect(bad.told).toEqual([
      `error Endpoints "bad": update from ${SERVER} rejected (NACK): broken`,
    ]);
  });

  it('notifies watchers of the same error once, however often it is sent', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: '!bad' });
    h.send(h.listener, '2', { a: '!bad' });
    h.send(h.listener, '3', { a: '!worse' });
    expect(watcher.told).toEqual([
      `error Listener "a": update from ${SERVER} rejected (NACK): bad`,
      `error Listener "a": update from ${SERVER} rejected (NACK): worse`,
    ]);
    expect(h.logger.errors).toEqual([
      `update from ${SERVER} rejected (NACK): Listener "a": bad`,
      `update from ${SERVER} rejected (NACK): Listener "a": worse`,
    ]);
  });

  it('notifies and logs an error again that recurs after a valid version', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    for (const value of ['!bad', 'good', '!bad']) h.send(h.listener, '1', { a: value });
    const error = `Listener "a": update from ${SERVER} rejected (NACK): bad`;
    expect(watcher.told).toEqual([`error ${error}`, 'value good', `ambient ${error}`]);
    expect(h.logger.errors).toHaveLength(2);
  });

  it('ends the error of a rejected update when the bytes in use are sent again', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.listener, '2', { a: '!bad' });
    h.send(h.listener, '3', { a: 'one' });
    expect(watcher.told).toEqual([
      'value one',
      `ambient Listener "a": update from ${SERVER} rejected (NACK): bad`,
      'ambient over',
    ]);
    expect(h.client.snapshot().resources[0]).toMatchObject({ status: 'ACKED', failure: undefined });
  });

  it.each([
    ['another version', 'two'],
    ['the bytes in use', 'one'],
  ])('logs that rejections are over with %s, once', (_text, value) => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.watch(h.listener, 'b');
    h.send(h.listener, '1', { a: 'one', b: 'one' });
    h.send(h.listener, '2', { a: '!bad', b: 'one' });
    h.send(h.listener, '3', { a: '!worse', b: 'one' });
    expect(h.logger.infos).toEqual([]);
    h.send(h.listener, '4', { a: value, b: 'one' });
    h.send(h.listener, '5', { a: value, b: 'two' });
    expect(h.logger.infos).toEqual([
      expect.stringMatching(
        /^Listener "a": version "4" from management server .* is accepted; what it sent since 2023-11-14T22:13:20\.000Z was rejected \(NACK\)$/,
      ),
    ]);
  });

  it('logs the first of thousands of resources that are accepted after a rejection', () => {
    const h = new Harness();
    const names = Array.from({ length: 1000 }, (_, i) => `r${i}`);
    for (const name of names) h.watch(h.endpoints, name);
    const send = (version: string, value: string) =>
      h.send(h.endpoints, version, Object.fromEntries(names.map((name) => [name, value])));
    send('1', '!bad');
    send('2', 'good');
    expect(h.logger.infos).toHaveLength(16);
    send('3', '!bad');
    send('4', 'good');
    expect(h.logger.infos).toHaveLength(32);
  });

  it('ACKs a response for a resource that is no longer watched', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'stays');
    const leaves = h.watch(h.listener, 'leaves');
    leaves.release();
    expect(h.stream.request).toMatchObject({ typeUrl: h.listener.typeUrl, resourceNames: [] });
    h.send(h.listener, '1', { leaves: '!bad' });
    expect(h.stream.request).toMatchObject({
      typeUrl: h.listener.typeUrl,
      versionInfo: '1',
      responseNonce: 'n1',
      resourceNames: [],
      errorDetail: undefined,
    });
    expect(leaves.told).toEqual([]);
    expect(h.listener.decoded).toEqual([]);
  });

  // docs/decisions/resource-validation.md
  it.each(['!bad', 'throw'])('neither decodes nor rejects %s if it was not requested', (value) => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one', other: value });
    expect(h.listener.decoded).toEqual(['a']);
    expect(h.stream.request).toMatchObject({ versionInfo: '1', errorDetail: undefined });
    expect(watcher.told).toEqual(['value one']);
    const other = h.watch(h.listener, 'other');
    h.send(h.listener, '2', { a: 'one', other: value });
    expect(h.stream.request.errorDetail?.message).toContain('Listener "other": ');
    expect(other.errors).toMatchObject([{ kind: 'invalid' }]);
  });

  it('survives a decoder that throws, and NACKs', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'throw' });
    expect(h.stream.request.errorDetail?.message).toBe(
      'Listener "a": could not be read: decoder is broken',
    );
    expect(watcher.told).toEqual([
      `error Listener "a": update from ${SERVER} rejected (NACK): could not be read: decoder is broken`,
    ]);
  });

  it('ignores resources that were not requested without decoding them', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one', other: '!bad', more: 'two' });
    expect(h.stream.request).toMatchObject({ versionInfo: '1', errorDetail: undefined });
    expect(h.listener.decoded).toEqual(['a']);
  });

  it.each(['constructor', '__proto__', 'hasOwnProperty', ''])('has no special name %p', (name) => {
    const h = new Harness();
    const watcher = h.watch(h.listener, name);
    h.send(h.listener, '1', new Map([[name, 'one']]));
    h.send(h.listener, '2', new Map());
    expect(watcher.told).toEqual([
      'value one',
      `error Listener "${name}": no such resource: ${SERVER} has removed it: add it there, or change what refers to it`,
    ]);
  });
});
