import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { CallCredentialsRegistry } from '../../src/credentials/call-creds-registry';
import {
  builtInChannelCredentials,
  ChannelCredentialsRegistry,
} from '../../src/credentials/channel-creds-registry';
import { ManagementCredentials } from '../../src/credentials/management-credentials';
import { GrpcTransportFactory } from '../../src/transport/grpc-transport';
import { systemClock } from '../../src/util/clock';
import type { XdsTransport } from '../../src/xds-client/transport';
import { ByteServer, METHOD } from '../transport/byte-server';
import { StreamRecorder } from '../transport/stream-recorder';

const fixture = (name: string) => join(__dirname, 'certificates', name);
const read = (name: string) => readFileSync(fixture(name));

describe('a management server with TLS', () => {
  let server: ByteServer;
  const transports: XdsTransport[] = [];

  beforeAll(async () => {
    const pairs = [{ cert_chain: read('server.pem'), private_key: read('server.key') }];
    const credentials = ServerCredentials.createSsl(read('ca.pem'), pairs, true);
    server = await new ByteServer(
      (call) => call.write('hello'),
      'localhost:0',
      credentials,
    ).start();
  });

  afterAll(() => {
    for (const transport of transports) transport.close();
    server.stop();
  });

  function open(config: object): StreamRecorder {
    const factory = new GrpcTransportFactory({
      credentials: new ManagementCredentials({
        channel: new ChannelCredentialsRegistry(builtInChannelCredentials()),
        call: new CallCredentialsRegistry([]),
      }),
      clock: systemClock,
    });
    const transport = factory.create({
      serverUri: server.address,
      channelCreds: { type: 'tls', config },
      callCreds: [],
      features: new Set(),
      key: '',
    });
    if (!transport.ok) throw new Error(transport.error);
    transports.push(transport.value);
    const recorder = new StreamRecorder();
    transport.value.openStream(METHOD, recorder).read();
    return recorder;
  }

  const identity = {
    certificate_file: fixture('client.pem'),
    private_key_file: fixture('client.key'),
  };

  it('is reached with the certificates of the configuration (gRFC A65)', async () => {
    const recorder = open({ ...identity, ca_certificate_file: fixture('ca.pem') });
    await recorder.untilMessage();
    expect(recorder.messages).toEqual(['hello']);
  });

  it('is not trusted if another authority is configured', async () => {
    const recorder = open({ ...identity, ca_certificate_file: fixture('other-ca.pem') });
    expect((await recorder.untilClosed()).details).toMatch(
      /^(unable to verify the first certificate|self-signed certificate in certificate chain|UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN)/,
    );
  });

  it('is not trusted with the root certificates of the system', async () => {
    const recorder = open({});
    expect((await recorder.untilClosed()).code).toBe(14);
  });

  it('rejects a client without a certificate', async () => {
    const recorder = open({ ca_certificate_file: fixture('ca.pem') });
    expect((await recorder.untilClosed()).code).toBe(14);
  });
});
