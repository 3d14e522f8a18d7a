import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { AuditEvent } from '../../src/authorization/audit-logger';
import {
  createAuthorizationInterceptor,
  type AuthorizationInterceptorOptions,
} from '../../src/authorization/authorization-interceptor';
import type { AuthorizationPolicy } from '../../src/authorization/authorization-policy';
import { eventually } from '../support/eventually';
import { TestCertificates } from '../support/test-certificates';

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-authorization-'));
const certificates = new TestCertificates();
afterAll(() => {
  rmSync(folder, { recursive: true });
  certificates.close();
});

const identity = (value: Buffer) => value;
const method = (path: string) => ({
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: identity,
  requestDeserialize: identity,
  responseSerialize: identity,
  responseDeserialize: identity,
});

/** Runs a test with a server and one client of it. */
async function withServer(
  options: AuthorizationInterceptorOptions,
  test: (
    call: (path: string, headers?: Record<string, string>) => Promise<string>,
  ) => Promise<void>,
  secured = {
    server: ServerCredentials.createInsecure(),
    client: credentials.createInsecure(),
  },
): Promise<void> {
  const interceptor = createAuthorizationInterceptor(options);
  const server = new Server({ interceptors: [interceptor] });
  let handled = 0;
  const handle = (_call: unknown, callback: (error: null, reply: Buffer) => void) => {
    handled++;
    callback(null, Buffer.from('done'));
  };
  const service = { get: method('/a.S/Get'), put: method('/a.S/Put') };
  server.addService(service, { get: handle, put: handle });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', secured.server, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const client = new Client(`127.0.0.1:${port}`, secured.client, {
    'grpc.ssl_target_name_override': 'server.test',
    'grpc.default_authority': 'server.test',
  });
  const call = (path: string, headers: Record<string, string> = {}) => {
    const before = handled;
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return new Promise<string>((resolve) => {
      client.makeUnaryRequest(path, identity, identity, Buffer.from('x'), metadata, (error) => {
        if (error === null) resolve('done');
        // A denied call is not handled.
        else
          resolve(
            `${status[error.code]}: ${error.details}${handled === before ? '' : ' (handled)'}`,
          );
      });
    });
  };
  try {
    await test(call);
  } finally {
    interceptor.close();
    client.close();
    server.forceShutdown();
  }
}

const DENIED = 'PERMISSION_DENIED: unauthorized RPC request rejected';

describe('an authorization interceptor (gRFC A43)', () => {
  it('denies what no rule allows or one denies, without saying which, and audits it', async () => {
    const events: AuditEvent[] = [];
    const log = (event: AuditEvent) => events.push(event);
    const policy: AuthorizationPolicy = {
      name: 'shop',
      deny_rules: [{ name: 'tests', request: { headers: [{ key: 'x-test', values: ['*'] }] } }],
      allow_rules: [{ name: 'reads', request: { paths: ['/a.S/Get'] } }],
      audit_logging_options: {
        audit_condition: 'ON_DENY',
        audit_loggers: [{ name: 'memory' }],
      },
    };
    const memory = { name: 'memory', parseConfig: () => undefined, create: () => ({ log }) };
    await withServer({ policy, auditLoggers: [memory] }, async (call) => {
      expect(await call('/a.S/Get')).toBe('done');
      expect(await call('/a.S/Put')).toBe(DENIED);
      expect(await call('/a.S/Get', { 'x-test': '1' })).toBe(DENIED);
    });
    expect(events.map(({ rpcMethod, matchedRule }) => [rpcMethod, matchedRule])).toEqual([
      ['/a.S/Put', ''],
      ['/a.S/Get', 'shop_tests'],
    ]);
  });

  it('knows clients by their certificates', async () => {
    const root = certificates.authority('root');
    const server = root.sign('server.test', { names: ['DNS:server.test'] });
    const web = root.sign('web', { names: ['URI:spiffe://td/ns/a/sa/web', 'DNS:web.test'] });
    const old = root.sign('old');
    const roots = Buffer.from(root.certificate);
    const pair = {
      cert_chain: Buffer.from(server.certificate),
      private_key: Buffer.from(server.privateKey),
    };
    const secured = (client: typeof web) => ({
      server: ServerCredentials.createSsl(roots, [pair], true),
      client: credentials.createSsl(
        ...([roots, Buffer.from(client.privateKey), Buffer.from(client.certificate)] as const),
      ),
    });
    const allow = (principal: string): AuthorizationInterceptorOptions => ({
      policy: {
        name: 'shop',
        allow_rules: [{ name: 'r', source: { principals: [principal] } }],
      },
    });
    const expectCall = (principal: string, client: typeof web, expected: string) =>
      withServer(
        allow(principal),
        async (call) => expect(await call('/a.S/Get')).toBe(expected),
        secured(client),
      );
    await expectCall('spiffe://td/ns/a/*', web, 'done');
    await expectCall('web.test', web, DENIED);
    await expectCall('CN=old', old, 'done');
    await expectCall('spiffe://td/ns/b/*', web, DENIED);
  });

  it('reads a file again when it is replaced, and keeps the last good policy', async () => {
    const path = join(folder, 'policy.json');
    const write = (text: string) => {
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    };
    const allowing = (of: string) =>
      JSON.stringify({ name: 'shop', allow_rules: [{ name: 'r', request: { paths: [of] } }] });
    write(allowing('/a.S/Get'));
    await withServer({ file: path }, async (call) => {
      expect(await call('/a.S/Put')).toBe(DENIED);
      write('{');
      write(allowing('/a.S/Put'));
      await eventually(
        () => call('/a.S/Put'),
        (result) => result === 'done',
      );
      expect(await call('/a.S/Get')).toBe(DENIED);
    });
  });

  it.each<[string, object, string]>([
    [
      'neither policy nor file',
      {},
      'grpc-xds: createAuthorizationInterceptor() needs either policy or file',
    ],
    [
      'both',
      { policy: {}, file: 'x' },
      'grpc-xds: createAuthorizationInterceptor() needs either policy or file',
    ],
    [
      'a policy that is not valid',
      { policy: {} },
      'grpc-xds: createAuthorizationInterceptor(): policy: name: field not present',
    ],
    [
      'a file that is not there',
      { file: join(folder, 'none.json') },
      `grpc-xds: authorization policy ${join(folder, 'none.json')}: cannot be read: ENOENT`,
    ],
  ])('is not created with %s', (_what, options, message) => {
    expect(() => createAuthorizationInterceptor(options)).toThrow(message);
  });
});
