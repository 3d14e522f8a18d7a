import { connect } from 'node:tls';
import { HandshakeLog } from '../../../src/server/credentials/handshake-log';
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
        ...{ subject: 'listener 127.0.0.1: ', clock: systemClock, logger },
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
        '[uri:spiffe://td/other] of the certificate: satisfy none of the matchers of the listener',
    ]);
  });

  it('logs a handshake that fails before a client is verified', async () => {
    lines.length = 0;
    const socket = connect({
      ...{ host: '127.0.0.1', port: server.port, ca: root.certificate },
      ALPNProtocols: ['http/1.1'],
    });
    socket.on('error', () => undefined);
    const [line] = await eventually(
      () => lines,
      ({ length }) => length > 0,
    );
    expect(line).toMatch(/^listener 127\.0\.0\.1: TLS handshake with .* failed: .*protocol/);
    socket.destroy();
  });
});
