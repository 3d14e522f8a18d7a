import type { ClientEvents } from '../../src/xds-client/client-snapshot';
import { WatchedResource } from '../../src/xds-client/watched-resource';
import { Harness, RecordingWatcher } from './harness';

const SERVER = 'management server xds.test:1 (node "node-1")';
const START_MS = 1_700_000_000_000;

describe('waitingFor', () => {
  it('says of each wait what it is for, for how long, and what comes next', () => {
    const h = new Harness();
    h.server.isReachable = false;
    h.watch(h.listener, 'a');
    h.clock.advance(2500);
    expect(h.client.waitingFor()).toEqual([
      `Listener "a": waiting for 2.5 s: connecting to ${SERVER}: check server_uri and the network (waiting since 2023-11-14T22:13:20.000Z)`,
    ]);

    h.stream.confirmSent();
    h.clock.advance(500);
    expect(h.client.waitingFor()).toEqual([
      `Listener "a": waiting for 3.0 s: ${SERVER} has not answered this node yet: is node.id known to the server?; giving up in 14.5 s (waiting since 2023-11-14T22:13:20.000Z)`,
    ]);

    h.stream.end();
    h.clock.advance(400);
    expect(h.client.waitingFor()).toEqual([
      `Listener "a": waiting for 3.4 s: ${SERVER} cannot be reached: connection refused ` +
        '(failing since 2023-11-14T22:13:23.000Z); next attempt in 0.6 s (waiting since 2023-11-14T22:13:20.000Z)',
    ]);
  });

  it('says when the server has answered something else, and when it has hung up on that', () => {
    const h = new Harness();
    h.watch(h.endpoints, 'there');
    h.watch(h.endpoints, 'missing');
    h.send(h.endpoints, '1', { there: 'one' });
    expect(h.client.waitingFor()).toEqual([
      `Endpoints "missing": waiting for 0.0 s: ${SERVER} has not sent it: check the name, and that the server has it for this node; giving up in 15.0 s (waiting since 2023-11-14T22:13:20.000Z)`,
    ]);
    h.stream.end();
    expect(h.client.waitingFor()).toEqual([
      `Endpoints "missing": waiting for 0.0 s: ${SERVER} ended the stream with UNAVAILABLE: connection refused: see its log; next attempt in 1.0 s (waiting since 2023-11-14T22:13:20.000Z)`,
    ]);
  });

  it('writes no more lines than requested, and counts the other resources', () => {
    const h = new Harness();
    for (const name of ['a', 'b', 'c', 'd', 'e']) h.watch(h.endpoints, name);
    h.watch(h.listener, 'f');
    h.send(h.endpoints, '1', { b: 'one' });
    const waits = ['a', 'c', 'd'].map((name) => expect.stringContaining(`Endpoints "${name}": `));
    expect(h.client.waitingFor(3)).toEqual([...waits, 'and 2 more resources are also pending']);
    expect(h.client.waitingFor(4).at(-1)).toBe('and 1 more resource is also pending');
    expect(h.client.waitingFor(5)).toEqual(h.client.waitingFor());
  });

  it('looks at no more pending resources than have a line', () => {
    const h = new Harness();
    const names = Array.from({ length: 100 }, (_, i) => `pending-${i}`);
    const watches = names.map((name) => h.watch(h.endpoints, name));
    const state = jest.spyOn(WatchedResource.prototype, 'state', 'get');
    expect(h.client.waitingFor(3).at(-1)).toBe('and 97 more resources are also pending');
    expect(state).not.toHaveBeenCalled();
    state.mockRestore();

    for (const watch of watches.slice(1)) watch.release();
    expect(h.client.waitingFor(3)).toEqual([expect.stringContaining('"pending-0"')]);
  });

  it('is empty when everything has been answered, well or badly', () => {
    const h = new Harness();
    h.watch(h.listener, 'good');
    h.watch(h.listener, 'bad');
    h.send(h.listener, '1', { good: 'one', bad: '!bad' });
    expect(h.client.waitingFor()).toEqual([]);
  });
});

describe('snapshot', () => {
  it('has every resource with its status, the version in use and the version rejected', () => {
    const h = new Harness();
    h.watch(h.listener, 'acked');
    h.watch(h.listener, 'nacked');
    h.watch(h.listener, 'nacked');
    h.watch(h.endpoints, 'missing');
    h.clock.advance(15_000);
    h.watch(h.endpoints, 'requested');
    h.send(h.listener, '1', { acked: 'one', nacked: 'two' });
    h.clock.advance(100);
    h.send(h.listener, '2', { acked: 'one', nacked: '!bad' });
    const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString();
    const resources = h.client.snapshot().resources.map(({ accepted, failure, ...rest }) => ({
      ...rest,
      failure: failure && { ...failure, rejected: text(failure.rejected) },
      accepted: accepted && { ...accepted, bytes: text(accepted.bytes) },
    }));
    expect(resources).toEqual([
      {
        typeUrl: h.listener.typeUrl,
        name: 'acked',
        status: 'ACKED',
        accepted: { version: '2', bytes: 'acked\none', updatedAtMs: START_MS + 15_000 },
        failure: undefined,
        watchers: 1,
        waitingSinceMs: undefined,
      },
      {
        typeUrl: h.listener.typeUrl,
        name: 'nacked',
        status: 'NACKED',
        accepted: { version: '1', bytes: 'nacked\ntwo', updatedAtMs: START_MS + 15_000 },
        failure: {
          version: '2',
          details: `Listener "nacked": update from ${SERVER} rejected (NACK): bad (failing since 2023-11-14T22:13:35.100Z)`,
          violations: 'bad',
          atMs: START_MS + 15_100,
          sinceMs: START_MS + 15_100,
          rejected: 'nacked\n!bad',
        },
        watchers: 2,
        waitingSinceMs: undefined,
      },
      {
        typeUrl: h.endpoints.typeUrl,
        name: 'missing',
        status: 'DOES_NOT_EXIST',
        accepted: undefined,
        failure: {
          version: '',
          details:
            `Endpoints "missing": no such resource: ${SERVER} did not send it within 15 s ` +
            'and has not answered this node at all: is node.id known to the server? ' +
            '(failing since 2023-11-14T22:13:35.000Z)',
          atMs: START_MS + 15_000,
          sinceMs: START_MS + 15_000,
          rejected: undefined,
        },
        watchers: 1,
        waitingSinceMs: undefined,
      },
      {
        typeUrl: h.endpoints.typeUrl,
        name: 'requested',
        status: 'REQUESTED',
        accepted: undefined,
        failure: undefined,
        watchers: 1,
        waitingSinceMs: START_MS + 15_000,
      },
    ]);
  });

  it('has every server with the state of its stream', () => {
    const h = new Harness();
    h.server.isReachable = false;
    h.watch(h.listener, 'a');
    const server = () => h.client.snapshot().servers;
    const base = {
      serverUri: 'xds.test:1',
      lastError: undefined,
      failingSince: undefined,
      retryInMs: undefined,
      shortStreams: 0,
    };
    expect(server()).toEqual([{ ...base, state: 'connecting' }]);
    h.stream.confirmSent();
    expect(server()).toEqual([{ ...base, state: 'open' }]);
    h.stream.end();
    h.clock.advance(250);
    const failingSince = '2023-11-14T22:13:20.000Z';
    const lastError = `${SERVER} cannot be reached: connection refused (failing since ${failingSince})`;
    const failed = { ...base, lastError, failingSince };
    expect(server()).toEqual([{ ...failed, state: 'backoff', retryInMs: 750 }]);
    h.clock.advance(750);
    expect(server()).toEqual([{ ...failed, state: 'connecting' }]);
    h.send(h.listener, '1', { a: 'one' });
    expect(server()).toEqual([{ ...base, state: 'open' }]);
  });
});

describe('a snapshot taken in the middle of things', () => {
  it('shows a server that is about to be connected to', () => {
    const h = new Harness();
    h.client.run(() => {
      h.client.watch(h.listener, 'a', new RecordingWatcher());
      h.client.run(() => {
        expect(h.client.snapshot().servers.map(({ state }) => state)).toEqual(['idle']);
        expect(h.client.waitingFor()).toEqual([
          `Listener "a": waiting for 0.0 s: connecting to ${SERVER}: check server_uri and the network (waiting since 2023-11-14T22:13:20.000Z)`,
        ]);
      });
    });
    expect(h.client.snapshot().servers.map(({ state }) => state)).toEqual(['connecting']);
  });
});

describe('client events', () => {
  it('count what was valid and what was not, and servers that went from well to unwell', () => {
    const seen: string[] = [];
    const events: ClientEvents = {
      onServerFailure: ({ serverUri }) => seen.push(`failure ${serverUri}`),
      onResponse: ({ serverUri }, typeUrl, valid, invalid) =>
        seen.push(`response ${serverUri} ${typeUrl} ${valid} ${invalid}`),
    };
    const h = new Harness({ events });
    h.watch(h.endpoints, 'a');
    h.watch(h.endpoints, 'b');
    h.stream.end();
    h.clock.advance(1000);
    h.stream.end(13, 'another reason');
    h.clock.advance(1600);
    h.send(h.endpoints, '1', { a: 'one', b: '!two,ways to be wrong', notWatched: 'x' });
    h.clock.advance(1000);
    h.stream.end();
    h.stream.end();
    expect(seen).toEqual([
      'failure xds.test:1',
      `response xds.test:1 ${h.endpoints.typeUrl} 1 1`,
      'failure xds.test:1',
    ]);
  });
});
