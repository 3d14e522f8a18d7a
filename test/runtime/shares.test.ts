import { inspect, register, shutdown } from '../../src';
import { bootstrapFor } from '../support/mesh';

jest.mock('../../src/util/optional-package', () => ({
  requireOptional: (name: string) => {
    throw new Error(`Cannot find module '${name}'\nRequire stack:\n- /app/main.js`);
  },
}));

const INSTALL =
  "needs the package grpc-xds-relay: run npm install grpc-xds-relay (Cannot find module 'grpc-xds-relay/share')";

describe('sharing streams without grpc-xds-relay', () => {
  const bootstrap = bootstrapFor('127.0.0.1:9');

  afterEach(async () => {
    delete process.env['GRPC_XDS_SHARE'];
    await shutdown();
  });

  it('fails register({ share }) with the command that installs it', () => {
    expect(() => register({ bootstrap, share: '/run/shop.sock' })).toThrow(
      `grpc-xds: share of register() ${INSTALL}`,
    );
  });

  it('keeps nothing of a register({ share }) that failed', () => {
    expect(() => register({ bootstrap, share: '/run/shop.sock' })).toThrow(INSTALL);
    register({ bootstrap });
    expect(inspect().shares).toEqual([]);
  });

  it('is logged once if the environment asks for it, and each process has streams of its own', () => {
    process.env['GRPC_XDS_SHARE'] = '/run/shop.sock';
    const lines: string[] = [];
    register({ bootstrap, logger: { log: ({ message }) => lines.push(message) } });
    expect(lines).toEqual([`GRPC_XDS_SHARE has no effect: it ${INSTALL}`]);
  });
});
