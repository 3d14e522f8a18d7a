import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerCredentials, status } from '@grpc/grpc-js';
import { CallCredentials, credentials, Metadata } from '../../src/grpc-js';
import { GrpcTransportFactory } from '../../src/transport/grpc-transport';
import { SentSecrets } from '../../src/transport/connection-credentials';
import { systemClock } from '../../src/util/clock';
import { ByteServer, METHOD } from './byte-server';
import { StreamRecorder } from './stream-recorder';

const OPAQUE = 'opaque/0123456789+abcdef==';

const read = (name: string) =>
  readFileSync(join(__dirname, '..', 'security', 'credentials', 'certificates', name));

function headers(fields: Record<string, string>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
  return metadata;
}

describe('tokens that were sent to a server', () => {
  it.each([
    ['whole', `token ${OPAQUE} is bad`, 'token [redacted] is bad'],
    ['more than once', `${OPAQUE}${OPAQUE}`, '[redacted][redacted]'],
    ['cut short', `token ${OPAQUE.slice(0, 18)}… is bad`, 'token [redacted]… is bad'],
    ['not', 'token opaque/0 is bad', 'token opaque/0 is bad'],
  ])('are redacted where they are echoed %s', (_, text, expected) => {
    const secrets = new SentSecrets();
    secrets.note(headers({ authorization: `Bearer ${OPAQUE}` }));
    expect(secrets.redact(text)).toBe(expected);
  });

  it('differ from other headers by their names and from other text by their length', () => {
    const secrets = new SentSecrets();
    secrets.note(
      headers({ 'x-goog-user-project': 'a-project-with-a-long-name', 'x-auth': 'short' }),
    );
    const text = 'a-project-with-a-long-name is short';
    expect(secrets.redact(text)).toBe(text);
  });

  it('are dropped when eight newer ones were sent', () => {
    const secrets = new SentSecrets();
    const tokenOf = (i: number) => `${i}-${OPAQUE}`;
    for (let i = 0; i < 9; i++) secrets.note(headers({ 'x-token': tokenOf(i) }));
    expect(secrets.redact(`${tokenOf(0)} ${tokenOf(1)} ${tokenOf(8)}`)).toBe(
      `${tokenOf(0)} [redacted] [redacted]`,
    );
  });

  it('are redacted in the status of a gRPC stream, and control characters are escaped', async () => {
    const pairs = [{ cert_chain: read('server.pem'), private_key: read('server.key') }];
    const server = await new ByteServer(
      (call) => {
        const token = String(call.metadata.get('authorization')[0]);
        const details = `\u001b[31m${token} and ${OPAQUE} denied`;
        call.emit('error', { code: status.UNAUTHENTICATED, details });
      },
      'localhost:0',
      ServerCredentials.createSsl(null, pairs),
    ).start();
    const token = CallCredentials.createFromMetadataGenerator((_call, callback) =>
      callback(null, headers({ authorization: `Bearer ${OPAQUE}` })),
    );
    const channel = credentials.createSsl(read('ca.pem'));
    const combined = credentials.combineChannelCredentials(channel, token);
    const transport = new GrpcTransportFactory({
      credentials: { create: () => ({ ok: true, value: combined }) },
      clock: systemClock,
    }).create({
      serverUri: server.address,
      channelCreds: { type: 'tls', config: undefined },
      callCreds: [],
      features: new Set(),
      key: '',
    });
    if (!transport.ok) throw new Error(transport.error);
    const recorder = new StreamRecorder();
    transport.value.openStream(METHOD, recorder).read();
    expect(await recorder.untilClosed()).toMatchObject({
      code: status.UNAUTHENTICATED,
      details: '\\x1b[31mBearer [redacted] and [redacted] denied',
    });
    transport.value.close();
    server.stop();
  });
});
