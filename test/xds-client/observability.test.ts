import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { diagnostics } from '../../src/xds-client/diagnostics';
import { withoutSince } from '../../src/util/since';
import { DiagnosticRecorder } from '../support/diagnostic-recorder';
import { authorityConfig, Harness, serverConfig } from './harness';
import { lasting } from '../support/lasting';

const SERVER = 'management server xds.test:1 (node "node-1")';
const base = { nodeId: 'node-1', serverUri: 'xds.test:1' };

describe('a wait of five seconds', () => {
  it('is logged once, with the text of waitingFor', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.clock.advance(4999);
    expect(h.logger.errors).toEqual([]);
    h.clock.advance(1);
    expect(h.logger.errors).toEqual([
      `Listener "a": waiting for 5.0 s: ${SERVER} has not answered this node yet: is node.id known to the server?; giving up in 10.0 s`,
    ]);
    expect(h.logger.errors).toEqual(h.client.waitingFor().map(withoutSince));
    expect(h.client.waitingFor()[0]).toMatch(/ \(waiting since 2023-11-14T22:13:20\.000Z\)$/);
    h.clock.advance(9000);
    expect(h.logger.errors.filter((text) => text.includes('waiting for'))).toHaveLength(1);
  });

  it('is no error of its own for a server that cannot be reached: that is one already', () => {
    const h = new Harness();
    h.watch(h.listener, 'a');
    for (const delayMs of [1000, 1600, 2400]) {
      h.stream.end();
      h.clock.advance(delayMs);
    }
    expect(h.logger.infos).toEqual([
      `Listener "a": waiting for 5.0 s: ${SERVER} cannot be reached: connection refused; next attempt in 0.2 s`,
    ]);
  });

  it('is logged once more when it is over', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'a');
    h.watch(h.endpoints, 'dropped');
    h.clock.advance(7000);
    h.send(h.endpoints, '1', { a: 'one' });
    h.send(h.endpoints, '2', { a: 'two' });
    expect(h.logger.errors).toEqual([
      expect.stringContaining('Endpoints "a": waiting for 5.0 s'),
      expect.stringContaining('Endpoints "dropped": waiting for 5.0 s'),
    ]);
    expect(h.logger.infos).toEqual(['Endpoints "a": received after 7.0 s']);
  });

  it('is not logged for what was received in time, released, or requested later', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'there');
    const dropped = h.watch(h.endpoints, 'dropped');
    h.clock.advance(2000);
    h.watch(h.endpoints, 'later');
    h.send(h.endpoints, '1', { there: 'one' });
    dropped.release();
    h.clock.advance(4999);
    expect(h.logger.errors).toEqual([]);
    h.clock.advance(1);
    expect(h.logger.errors).toEqual([
      expect.stringContaining('Endpoints "later": waiting for 5.0 s'),
    ]);
  });

  it('is logged again when the same name is pending again', () => {
    const h = new Harness();
    h.watch(h.listener, 'other');
    h.watch(h.endpoints, 'a').release();
    h.clock.advance(1000);
    h.send(h.listener, '1', { other: 'one' });
    for (let i = 0; i < 2; i++) {
      const a = h.watch(h.endpoints, 'a');
      h.clock.advance(5000);
      a.release();
    }
    expect(h.logger.errors).toHaveLength(2);
  });

  it('of very many has a few lines, and the number of the others', () => {
    const h = new Harness();
    for (let i = 0; i < 30; i++) h.watch(h.endpoints, `e${i}`);
    h.clock.advance(5000);
    expect(h.logger.errors).toHaveLength(11);
    expect(h.logger.errors[10]).toBe('20 more resources are also pending');
  });

  it('is published on the diagnostics channel', () => {
    const recorder = new DiagnosticRecorder('grpc-xds:resource-waiting');
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.clock.advance(5000);
    expect(recorder.take()).toEqual([
      [
        'grpc-xds:resource-waiting',
        {
          nodeId: 'node-1',
          serverUri: undefined,
          typeUrl: h.listener.typeUrl,
          name: 'a',
          text: h.client.waitingFor()[0],
        },
      ],
    ]);
  });
});

describe('events of servers', () => {
  it('say when one answers, when it fails, and when it answers again', () => {
    const recorder = new DiagnosticRecorder('grpc-xds:server-connected', 'grpc-xds:server-failed');
    const h = new Harness();
    h.watch(h.listener, 'a');
    expect(recorder.take()).toEqual([]);
    h.send(h.listener, '1', { a: 'one' });
    h.send(h.listener, '2', { a: 'two' });
    expect(recorder.take()).toEqual([['grpc-xds:server-connected', base]]);
    h.clock.advance(1000);
    h.stream.end();
    h.stream.end();
    const error = `${SERVER} cannot be reached: connection refused (failing since 2023-11-14T22:13:21.000Z)`;
    expect(recorder.take()).toEqual([
      ['grpc-xds:server-failed', { ...base, error, retryInMs: expect.any(Number) }],
    ]);
    h.clock.advance(60_000);
    h.send(h.listener, '2', { a: 'two' });
    expect(recorder.take()).toEqual([['grpc-xds:server-connected', base]]);
  });

  it('say which server of an authority is in use', () => {
    const recorder = new DiagnosticRecorder('grpc-xds:fallback');
    const authorities = new Map([
      ['x', authorityConfig([serverConfig('primary'), serverConfig('second')])],
    ]);
    const h = new Harness({ authorities });
    const name = `xdstp://x/test.Listener/a`;
    h.watch(h.listener, name);
    h.network.server('primary').stream.end();
    const about = { nodeId: 'node-1', authority: 'x' };
    expect(recorder.take()).toEqual([
      [
        'grpc-xds:fallback',
        { ...about, direction: 'down', fromServerUri: 'primary', toServerUri: 'second' },
      ],
    ]);
    h.clock.advance(1000);
    h.network.server('primary').stream.respond({
      typeUrl: h.listener.typeUrl,
      versionInfo: '1',
      resources: [h.listener.resource(name, 'one')],
    });
    expect(recorder.take()).toEqual([
      [
        'grpc-xds:fallback',
        { ...about, direction: 'back', fromServerUri: 'second', toServerUri: 'primary' },
      ],
    ]);
  });
});

describe('events of resources', () => {
  const all = () =>
    new DiagnosticRecorder(
      'grpc-xds:resource-accepted',
      'grpc-xds:resource-nacked',
      'grpc-xds:resource-missing',
      'grpc-xds:resource-stale',
    );

  it('say what is accepted, once per value, and what is rejected', () => {
    const recorder = all();
    const h = new Harness();
    h.watch(h.listener, 'a');
    const a = { ...base, typeUrl: h.listener.typeUrl, name: 'a' };
    h.send(h.listener, '1', { a: '!bad' });
    const error = `Listener "a": update from ${SERVER} rejected (NACK): bad (failing since 2023-11-14T22:13:20.000Z)`;
    expect(recorder.take()).toEqual([
      ['grpc-xds:resource-nacked', { ...a, version: '1', error, isOldValueInUse: false }],
    ]);
    h.send(h.listener, '2', { a: 'one' });
    h.send(h.listener, '3', { a: 'one' });
    expect(recorder.take()).toEqual([['grpc-xds:resource-accepted', { ...a, version: '2' }]]);
    h.send(h.listener, '4', { a: '!bad' });
    expect(recorder.take()).toEqual([
      ['grpc-xds:resource-nacked', { ...a, version: '4', error, isOldValueInUse: true }],
    ]);
  });

  it('say what is missing, and why', () => {
    const recorder = all();
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'a');
    const a = { ...base, typeUrl: h.endpoints.typeUrl, name: 'a' };
    h.clock.advance(15_000);
    expect(recorder.take()).toEqual([
      [
        'grpc-xds:resource-missing',
        { ...a, reason: 'does-not-exist', error: watcher.errors[0]?.message },
      ],
    ]);
    const other = new Harness();
    const cutOff = other.watch(other.endpoints, 'a');
    other.stream.end();
    expect(recorder.take()).toEqual([
      [
        'grpc-xds:resource-missing',
        {
          ...a,
          serverUri: undefined,
          reason: 'unreachable',
          error: cutOff.errors[0]?.message,
        },
      ],
    ]);
  });

  it('say what may be outdated, and why', () => {
    const recorder = all();
    const h = new Harness({ dataErrorHandling: true });
    h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: 'one' });
    recorder.take();
    h.send(h.listener, '2', {});
    const a = { ...base, typeUrl: h.listener.typeUrl, name: 'a' };
    expect(recorder.take()).toEqual([
      [
        'grpc-xds:resource-stale',
        {
          ...a,
          reason: 'does-not-exist',
          error: `Listener "a": no such resource: ${SERVER} has removed it: add it there, or change what refers to it (failing since 2023-11-14T22:13:20.000Z)`,
        },
      ],
    ]);
    h.clock.advance(1000);
    h.stream.end();
    h.stream.end();
    expect(recorder.take()).toEqual([
      [
        'grpc-xds:resource-stale',
        {
          ...a,
          serverUri: undefined,
          reason: 'unreachable',
          error: lasting(`Listener "a": ${SERVER} cannot be reached: connection refused`),
        },
      ],
    ]);
  });
});

describe('docs/observability.md', () => {
  const text = readFileSync(join(__dirname, '..', '..', 'docs', 'observability.md'), 'utf8');

  it('lists every channel, and no other', () => {
    const documented = [...text.matchAll(/^\| `(grpc-xds:[a-z-]+)`/gm)].map(([, name]) => name);
    const published = Object.values(diagnostics).map((channel) => Reflect.get(channel, 'name'));
    expect(documented).toEqual(published);
  });

  it('lists the members of a message', () => {
    const recorder = new DiagnosticRecorder('grpc-xds:resource-nacked', 'grpc-xds:server-failed');
    const h = new Harness();
    h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: '!bad' });
    h.clock.advance(1000);
    h.stream.end();
    h.stream.end();
    const messages = recorder.take();
    expect(messages).toHaveLength(2);
    for (const [name, message] of messages) {
      const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\``)) ?? '';
      const members = [...(row.split('|')[3] ?? '').matchAll(/`(\w+)`/g)].map(([, m]) => m);
      expect(Object.keys(message ?? {}).sort()).toEqual(['nodeId', ...members].sort());
    }
  });
});
