import { status } from '@grpc/grpc-js';
import { shutdown } from '../../src';
import { EchoClient } from '../support/echo-backend';
import { bootstrapFor, registerAnew } from '../support/mesh';

describe('a call on a channel', () => {
  beforeAll(() => registerAnew({ bootstrap: bootstrapFor('127.0.0.1:9') }));
  afterAll(() => shutdown());

  async function failureOf(target: string, options: object = {}): Promise<string> {
    const client = new EchoClient(target, options);
    const { code, details } = await client.failure();
    client.close();
    expect(code).toBe(status.UNAVAILABLE);
    return details;
  }

  it.each([
    ['xdss:///shop', 'xds:///shop'],
    ['XDS:///shop:50051', 'xds:///shop:50051'],
    ['xsd:shop', 'xds:///shop'],
    ['xds-experimental:///a', 'xds:///a'],
    ['xdstp://authority/envoy.config.listener.v3.Listener/shop', 'xds:///<name>'],
  ])('says that the scheme of %s is another one', async (target, meant) => {
    const [scheme = ''] = target.split(':');
    expect(await failureOf(target)).toBe(
      `the target "${target}" has the scheme ${scheme}: did you mean "${meant}"?`,
    );
  });

  it('names the option of the peer, and the one of this package', async () => {
    const peer = 'grpc.TEST_ONLY_DO_NOT_USE_IN_PROD.xds_bootstrap_config';
    expect(await failureOf('xds:///shop', { [peer]: '{}' })).toBe(
      `channel option ${peer} is of @grpc/grpc-js-xds: use grpc_xds.bootstrap of grpc-xds`,
    );
  });

  it('names an unknown option of this package', async () => {
    expect(await failureOf('xds:///shop', { 'grpc_xds.boostrap': {} })).toBe(
      'unknown channel option "grpc_xds.boostrap": did you mean "grpc_xds.bootstrap"?; ' +
        'those of grpc-xds are grpc_xds.bootstrap, grpc_xds.child_channel_options',
    );
  });

  it.each(['grpc-xds.bootstrap', 'grpcXds.bootstrap', 'grpc.xds.bootstrap', 'GRPC_XDS.bootstrap'])(
    'names the option that %s was meant to be',
    async (name) => {
      expect(await failureOf('xds:///shop', { [name]: {} })).toContain(
        `unknown channel option "${name}": did you mean "grpc_xds.bootstrap"?`,
      );
    },
  );

  it('names the options of this package for one of xds', async () => {
    expect(await failureOf('xds:///shop', { 'xds.bootstrap': {} })).toBe(
      'unknown channel option "xds.bootstrap"; those of grpc-xds are grpc_xds.bootstrap, grpc_xds.child_channel_options',
    );
  });

  it.each([[[{}]], [Promise.resolve({})], [new URL('file:///b.json')], [3]])(
    'refuses %p as the bootstrap of a channel',
    async (bootstrap) => {
      expect(await failureOf('xds:///shop', { 'grpc_xds.bootstrap': bootstrap })).toBe(
        'channel option grpc_xds.bootstrap must be an object or JSON text',
      );
    },
  );

  it('names unknown options of child channels', async () => {
    const options = {
      'grpc.keepalive_tim_ms': 1,
      interceptor: [],
      'acme.trace': true,
      'grpc.internal.x': 1,
    };
    expect(await failureOf('xds:///shop', { 'grpc_xds.child_channel_options': options })).toBe(
      'channel option grpc_xds.child_channel_options: ' +
        'unknown option "grpc.keepalive_tim_ms": did you mean "grpc.keepalive_time_ms"?; ' +
        'unknown option "interceptor": did you mean "interceptors"?',
    );
  });
});
