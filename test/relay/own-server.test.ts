import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Relay } from '../../packages/relay/src/relay';
import { bootstrapFor } from '../support/mesh';

describe('a relay whose bootstrap names a server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'own-'));
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const create = (listen: string, server: string) =>
    new Relay({ listen, bootstrap: bootstrapFor(server), env: {} });

  it.each<[string, string]>([
    ['unix:/run/x.sock', 'unix:/run/x.sock'],
    ['unix:///run/x.sock', 'unix:/run/x.sock'],
    ['unix:/run/x.sock', 'unix:///run/./x.sock'],
    [`unix:${folder}/real/x`, `unix:${folder}/link/x`],
    ['127.0.0.1:18000', '127.0.0.1:18000'],
    ['127.0.0.1:18000', 'dns:///localhost:18000'],
    ['127.0.0.1:18000', 'dns:localhost:18000'],
    ['localhost:18000', 'ipv4:127.0.0.1:18000'],
    ['[::1]:18000', 'localhost:18000'],
    ['127.0.0.1:18000', 'passthrough:///127.0.0.1:18000'],
    ['127.0.0.2:18000', '127.0.0.2:18000'],
  ])('is refused if that is itself: it listens on %s and names %s', (listen, server) => {
    expect(() => create(listen, server)).toThrow(
      `${listen}: the bootstrap of the relay (new Relay({ bootstrap })) names the relay itself as a management server, ${server}: it needs those above it`,
    );
  });

  it('is refused for the server of an authority, too', () => {
    const own = bootstrapFor('unix:/run/x.sock').xds_servers;
    const bootstrap = { ...bootstrapFor('127.0.0.1:1'), authorities: { a: { xds_servers: own } } };
    expect(() => new Relay({ listen: 'unix:/run/x.sock', bootstrap, env: {} })).toThrow(
      'names the relay itself',
    );
  });

  it.each<[string, string]>([
    ['unix:/run/x.sock', 'unix:/run/y.sock'],
    ['127.0.0.1:18000', '127.0.0.1:18001'],
    ['127.0.0.1:18000', '127.0.0.2:18000'],
    ['127.0.0.1:18000', '10.0.0.1:18000'],
    ['127.0.0.1:18000', 'unix:/127.0.0.1:18000'],
    ['127.0.0.1:0', '127.0.0.1:18000'],
  ])('is not if that is another one: it listens on %s and names %s', (listen, server) => {
    expect(() => create(listen, server)).not.toThrow();
  });
});

it('names the option of the relay if it has no bootstrap', () => {
  expect(() => new Relay({ listen: 'unix:/run/x.sock', env: {} })).toThrow(
    'xDS bootstrap is missing: set GRPC_XDS_BOOTSTRAP to a file or GRPC_XDS_BOOTSTRAP_CONFIG to JSON, or pass new Relay({ bootstrap })',
  );
});
