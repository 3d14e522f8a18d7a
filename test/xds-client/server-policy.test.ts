import { removalHandling, serverPolicy } from '../../src/xds-client/server-policy';

const FEATURES = [
  'ignore_resource_deletion',
  'fail_on_data_errors',
  'resource_timer_is_transient_error',
] as const;

const server = (features: readonly string[], serverUri = 'xds.test:1') => ({
  serverUri,
  features: new Set(features),
});

describe('serverPolicy', () => {
  it.each([
    ['nothing', [], 'drop'],
    ['ignore_resource_deletion', ['ignore_resource_deletion'], 'ignore'],
    ['the features of gRFC A88', FEATURES.slice(1), 'drop'],
    ['features it does not know', ['xds_v3', '__proto__'], 'drop'],
  ])('without data error handling, with %s', (_what, features, deletion) => {
    expect(serverPolicy(server(features), false)).toEqual({
      deletion,
      dropOnDataError: false,
      resourceTimeoutMs: 15_000,
      timeoutIsTransient: false,
      readResourceErrors: false,
      delta: 'off',
      separateStreams: false,
      isFile: false,
    });
  });

  it.each([
    ['nothing', [], { deletion: 'report' }],
    ['ignore_resource_deletion', FEATURES.slice(0, 1), { deletion: 'report' }],
    ['fail_on_data_errors', FEATURES.slice(1, 2), { deletion: 'drop', dropOnDataError: true }],
    [
      'resource_timer_is_transient_error',
      FEATURES.slice(2),
      { deletion: 'report', resourceTimeoutMs: 30_000, timeoutIsTransient: true },
    ],
  ])('with data error handling, with %s', (_what, features, expected) => {
    expect(serverPolicy(server(features), true)).toEqual({
      dropOnDataError: false,
      resourceTimeoutMs: 15_000,
      timeoutIsTransient: false,
      readResourceErrors: true,
      delta: 'off',
      separateStreams: false,
      isFile: false,
      ...expected,
    });
  });

  it.each([
    ['file:///etc/xds.yaml', true],
    ['FILE:///etc/xds', true],
    ['xds.test:1', false],
    ['https://xds.test', false],
    ['unix:///run/file:.sock', false],
  ])('tells that %s is a file: %s', (serverUri, isFile) => {
    expect(serverPolicy(server([], serverUri), false)).toMatchObject({ isFile });
  });

  it.each([
    ['grpc_xds_delta', ['grpc_xds_delta'], { delta: 'on' }],
    ['grpc_xds_delta_auto', ['grpc_xds_delta_auto'], { delta: 'auto' }],
    [
      'both, of which the cautious one counts',
      ['grpc_xds_delta', 'grpc_xds_delta_auto'],
      { delta: 'auto' },
    ],
    ['grpc_xds_separate_streams', ['grpc_xds_separate_streams'], { separateStreams: true }],
  ])('chooses the variant of the protocol by %s', (_what, features, expected) => {
    for (const dataErrorHandling of [false, true]) {
      expect(serverPolicy(server(features), dataErrorHandling)).toMatchObject({
        delta: 'off',
        separateStreams: false,
        ...expected,
      });
    }
  });
});

describe('what becomes of a resource that an incremental server has removed', () => {
  it.each([
    ['nothing', [], false, 'drop', 'report'],
    ['ignore_resource_deletion', ['ignore_resource_deletion'], false, 'ignore', 'ignore'],
    ['data error handling', [], true, 'report', 'report'],
    ['data error handling that fails', ['fail_on_data_errors'], true, 'drop', 'drop'],
  ])('with %s', (_what, features, dataErrorHandling, whole, part) => {
    const policy = serverPolicy(server(features), dataErrorHandling);
    expect([removalHandling(policy, false), removalHandling(policy, true)]).toEqual([whole, part]);
  });
});
