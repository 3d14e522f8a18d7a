import { Client, credentials } from '@grpc/grpc-js';
import { register, shutdown } from '../../src';
import { findMisspelt } from '../../src/bootstrap/bootstrap-keys';
import { XdsServer, type XdsServerOptions } from '../../src/server';
import { bootstrapFor } from '../support/mesh';

const PEER_OPTION = 'grpc.TEST_ONLY_DO_NOT_USE_IN_PROD.xds_bootstrap_config';
const bootstrap = bootstrapFor('127.0.0.1:9');

/** The options of a channel with an `xds:` target, and what a server has in their place. */
const CHANNEL_OPTIONS: readonly (readonly [name: string, instead: string])[] = [
  ['grpc_xds.bootstrap', ': use the option bootstrap of new XdsServer()'],
  [PEER_OPTION, ': use the option bootstrap of new XdsServer()'],
  ['grpc_xds.child_channel_options', ': use the option childChannelOptions of register()'],
  ['grpc-xds.bootstrap', ''],
  ['xds.bootstrap', ''],
];

describe('an option of an xds: channel', () => {
  afterAll(() => shutdown({ timeoutMs: 0 }));

  it.each(CHANNEL_OPTIONS)('is refused by a server: %s', (name, instead) => {
    const options: XdsServerOptions = { [name]: bootstrap };
    expect(() => new XdsServer(options)).toThrow(
      `grpc-xds: option of new XdsServer(): ${name} is an option of channels with an xds: target and has no effect here${instead}`,
    );
  });

  it.each(['grpc_xds.bootstrap', PEER_OPTION, 'xds.bootstrap'])(
    'is refused among the options of child channels: %s',
    (name) => {
      expect(() => register({ childChannelOptions: { [name]: '{}' } })).toThrow(
        `grpc-xds: childChannelOptions of register(): ${name} is an option of channels with an xds: target`,
      );
    },
  );
});

describe('an option of a public function', () => {
  afterAll(() => shutdown({ timeoutMs: 0 }));

  it.each(['bootstrap', 'childChannelOptions', 'snapshotPath', 'onServingState'])(
    'fails the calls of an xds: channel that has it: %s',
    async (name) => {
      register({ bootstrap });
      const client = new Client('xds:///shop', credentials.createInsecure(), { [name]: '{}' });
      const same = (bytes: Buffer) => bytes;
      const details = await new Promise((resolve) => {
        client.makeUnaryRequest('/a.B/C', same, same, Buffer.alloc(0), (error) =>
          resolve(error?.details),
        );
      });
      client.close();
      expect(details).toMatch(
        new RegExp(`channel option ${name} has no effect: it is an option of .*grpc_xds.bootstrap`),
      );
    },
  );

  it.each<unknown>([NaN, 'x', {}])(
    'fails the calls of a channel whose limit of attempts is %p',
    async (attempts) => {
      register({ bootstrap });
      const name: string = 'grpc-node.retry_max_attempts_limit';
      const client = new Client('xds:///shop', credentials.createInsecure(), { [name]: attempts });
      const same = (bytes: Buffer) => bytes;
      const details = await new Promise((resolve) => {
        client.makeUnaryRequest('/a.B/C', same, same, Buffer.alloc(0), (error) =>
          resolve(error?.details),
        );
      });
      client.close();
      expect(details).toContain('grpc-node.retry_max_attempts_limit must be a number');
    },
  );

  it('is named where a bootstrap has it', () => {
    expect(findMisspelt({ ...bootstrap, snapshotPath: '/a' }, () => false)).toEqual([
      'snapshotPath is ignored: it is an option of register()',
    ]);
  });
});
