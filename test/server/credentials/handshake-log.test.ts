import { connect as connectTcp, type Socket } from 'node:net';
import { connect, type ConnectionOptions } from 'node:tls';
import {
  describeTlsClientError,
  HandshakeLog,
} from '../../../src/server/credentials/handshake-log';
import { ServerTlsCredentials } from '../../../src/server/credentials/server-tls-credentials';
import type { Certificates } from '../../../src/security/providers/certificate-provider';
import { ok } from '../../../src/util/result';
import { systemClock } from '../../../src/util/clock';
import type { Logger } from '../../../src/util/logger';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { identityClient, IdentityServer, whoAmI } from '../../support/identity-server';
import { TestCertificates } from '../../support/test-certificates';

function createLogger(): { readonly lines: string[]; readonly logger: Logger } {
  const lines: string[] = [];
  const add = (text: () => string) => void lines.push(text());
  return { lines, logger: { trace: () => undefined, info: add, error: add } };
}

describe('the log of handshakes that fail', () => {
  it('has each cause once a minute, with the number of those that were not logged', () => {
    const { lines, logger } = createLogger();
    const clock = new FakeClock();
    const log = new HandshakeLog({ subject: 'server credentials: ', clock, logger });
    const none = { cause: 'NO_CERTIFICATE', text: 'the client presented no certificate' };
    log.report('10.0.0.1', none);
    log.report('10.0.0.2', none);
    log.report('10.0.0.3', none);
    log.report('10.0.0.4', { cause: 'ALPN', text: 'the client did not offer "h2" by ALPN' });
    clock.advance(60_000);
    log.report(undefined, none);
    const prefix = 'server credentials: TLS handshake with';
    expect(lines).toEqual([
      `${prefix} 10.0.0.1 failed: the client presented no certificate`,
      `${prefix} 10.0.0.4 failed: the client did not offer "h2" by ALPN`,
      `${prefix} a client without an address failed: the client presented no certificate; so did 2 others since this was last logged`,
    ]);
  });
});

describe('a server whose clients are verified by matchers of names', () => {
  const certificates = new TestCertificates();
  const root = certificates.authority('root');
  const identity = root.sign('server', { names: ['IP:127.0.0.1'] });
  const current: Certificates = {
    roots: ok({ certificates: [root.certificate] }),
    identity: ok(identity),
  };
  const { lines, logger } = createLogger();
  const server = new IdentityServer();
  const instance = { instanceName: 'default', certificateName: '' };
  afterAll(() => {
    server.stop();
    certificates.close();
  });

  it('serves those that match, and logs why it refuses others', async () => {
    const matcher = { kind: 'exact', text: 'spiffe://td/web', ignoreCase: false } as const;
    await server.bind(
      new ServerTlsCredentials({
        tls: {
          identity: instance,
          clientValidation: {
            rootCertificates: { kind: 'instance', ...instance },
            sanMatchers: [{ type: 'uri', matcher }],
          },
          requireClientCertificate: true,
        },
        certificates: { nodeId: '', watch: () => ({ current, release: () => undefined }) },
        clock: systemClock,
        log: new HandshakeLog({ subject: 'listener 127.0.0.1: ', clock: systemClock, logger }),
      }),
    );
    const call = async (...names: readonly string[]) => {
      const client = identityClient(server.port, root, root.sign('client', { names }));
      try {
        return (await whoAmI(client, 1500))?.spiffeId;
      } finally {
        client.close();
      }
    };
    expect(await call('URI:spiffe://td/web')).toBe('spiffe://td/web');
    await expect(call('URI:spiffe://td/other')).rejects.toThrow(/UNAVAILABLE|DEADLINE/);
    await expect(call('DNS:spiffe.td')).rejects.toThrow(/UNAVAILABLE|DEADLINE/);
    expect(
      await eventually(
        () => lines,
        ({ length }) => length > 0,
      ),
    ).toEqual([
      'listener 127.0.0.1: TLS handshake with 127.0.0.1 failed: the subject alternative names ' +
        '[uri:spiffe://td/other] of the certificate: satisfy none of the matchers of the listener: ' +
        'compare them with match_subject_alt_names',
    ]);
  });

  it.each<[string, (port: number) => Socket, RegExp]>([
    [
      'without a common protocol',
      (port) => connectTls(port, { ALPNProtocols: ['http/1.1'] }),
      /: the client did not offer "h2" by ALPN \(ERR_SSL_NO_APPLICATION_PROTOCOL\): use a client of gRPC$/,
    ],
    [
      'in plain text',
      (port) => {
        const socket = connectTcp(port, '127.0.0.1');
        socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
        return socket;
      },
      /: the client does not speak TLS \(ERR_SSL_\w+\): use TLS credentials in the client$/,
    ],
    [
      'with an old protocol',
      (port) => connectTls(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }),
      /: the client offers no protocol version from TLS 1\.2 on \(ERR_SSL_UNSUPPORTED_PROTOCOL\): update it$/,
    ],
  ])('logs a handshake that fails before a client is verified: %s', async (_what, start, text) => {
    lines.length = 0;
    const socket = start(server.port);
    socket.on('error', () => undefined);
    const [line] = await eventually(
      () => lines,
      ({ length }) => length > 0,
    );
    expect(line).toMatch(/^listener 127\.0\.0\.1: TLS handshake with 127\.0\.0\.1 failed: /);
    expect(line).toMatch(text);
    socket.destroy();
  });

  it('describes alerts, and what it does not know by its reason', () => {
    const error = Object.assign(
      new Error('80:error:0A0000F4:SSL routines:f:unexpected message:c'),
      {
        code: 'ERR_SSL_UNEXPECTED_MESSAGE',
        reason: 'unexpected message',
      },
    );
    expect(describeTlsClientError(error)).toEqual({
      cause: 'ERR_SSL_UNEXPECTED_MESSAGE',
      text: 'unexpected message (ERR_SSL_UNEXPECTED_MESSAGE)',
    });
    // Clients of Node.js send no alert: they look at the certificate after the handshake.
    const alert = Object.assign(new Error('alert'), { code: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA' });
    expect(describeTlsClientError(alert).text).toBe(
      'the client does not accept the certificate of this server (ERR_SSL_TLSV1_ALERT_UNKNOWN_CA): ' +
        'its log says which authorities and names it expects',
    );
    expect(describeTlsClientError(new TypeError('odd')).text).toBe('odd (TypeError)');
  });

  it.each([1, 2])(
    'logs the first handshake of server %i of the same credentials',
    async (count) => {
      const logged = createLogger();
      const shared = new ServerTlsCredentials({
        tls: {
          identity: instance,
          clientValidation: undefined,
          requireClientCertificate: false,
        },
        certificates: { nodeId: '', watch: () => ({ current, release: () => undefined }) },
        clock: systemClock,
        log: new HandshakeLog({
          subject: 'server credentials: ',
          clock: systemClock,
          logger: logged.logger,
        }),
      });
      const servers = Array.from({ length: count }, () => new IdentityServer());
      for (const each of servers) await each.bind(shared);
      const socket = connectTcp(servers.at(-1)?.port ?? 0, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
      const found = await eventually(
        () => logged.lines,
        ({ length }) => length > 0,
      );
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(
        /^server credentials: TLS handshake with 127\.0\.0\.1 failed: the client does not speak TLS \(/,
      );
      socket.destroy();
      for (const each of servers) each.stop();
    },
  );

  function connectTls(port: number, options: ConnectionOptions): Socket {
    const base = { host: '127.0.0.1', port, ca: root.certificate, ALPNProtocols: ['h2'] };
    return connect({ ...base, ...options });
  }
});
