import { describeServerTarget } from '../../../src/observe/admin/server-target';
import type { ResourceSnapshot } from '../../../src/xds-client/client-snapshot';

const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';
const SINCE_MS = Date.UTC(2026, 0, 2);

function resource(name: string, change: Partial<ResourceSnapshot> = {}): ResourceSnapshot {
  return {
    typeUrl: LISTENER,
    name,
    status: 'ACKED',
    failure: undefined,
    watchers: 1,
    accepted: { version: '1', bytes: new Uint8Array(), updatedAtMs: SINCE_MS },
    waitingSinceMs: undefined,
    ...change,
  };
}

const failure = {
  version: '2',
  details: 'Listener "b": rejected',
  rejected: undefined,
  atMs: SINCE_MS + 1000,
  sinceMs: SINCE_MS,
};
const pending = (name: string) =>
  resource(name, { status: 'REQUESTED', accepted: undefined, waitingSinceMs: SINCE_MS });

describe('the description of the client of servers', () => {
  it.each<[string, readonly ResourceSnapshot[], object]>([
    ['nothing is watched', [], { state: 'ready', waitingFor: [] }],
    ['all is accepted', [resource('a')], { state: 'ready', waitingFor: [] }],
    [
      'an update of what is in use was rejected',
      [resource('a', { status: 'NACKED', failure })],
      { state: 'ready', waitingFor: [] },
    ],
    [
      'something is pending',
      [resource('a'), pending('b'), pending('c'), pending('d')],
      {
        state: 'waiting',
        waitingFor: [
          'Listener "b": waiting (waiting since 2026-01-02T00:00:00.000Z)',
          'Listener "c": waiting (waiting since 2026-01-02T00:00:00.000Z)',
        ],
      },
    ],
    [
      'something has failed',
      [pending('a'), resource('b', { status: 'NACKED', accepted: undefined, failure })],
      {
        state: 'failed',
        failure: 'Listener "b": rejected',
        failingSince: '2026-01-02T00:00:00.000Z',
        waitingFor: ['Listener "a": waiting (waiting since 2026-01-02T00:00:00.000Z)'],
      },
    ],
  ])('when %s', (_when, resources, expected) => {
    expect(describeServerTarget({ resources }, 2)).toEqual(expected);
  });
});
