import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { parseBootstrap } from '../../../src/bootstrap/bootstrap-parser';
import type { ServerConfig } from '../../../src/bootstrap/bootstrap';
import { CredentialsRegistry } from '../../../src/security/credentials/credentials-registry';
import {
  ManagementCredentials,
  builtInChannelCredentials,
  createJwtTokenFileType,
} from '../../../src/security/credentials/management-credentials';
import { GrpcTransportFactory } from '../../../src/transport/grpc-transport';
import { systemClock } from '../../../src/util/clock';
import { ByteServer, METHOD } from '../../transport/byte-server';
import { StreamRecorder } from '../../transport/stream-recorder';

const certificate = (name: string) => join(__dirname, 'certificates', name);
const base64 = (json: unknown) => Buffer.from(JSON.stringify(json)).toString('base64url');
const tokenOf = (claims: unknown) => `${base64({})}.${base64(claims)}.c2ln`;

const credentials = new ManagementCredentials({
  channel: new CredentialsRegistry('channel', builtInChannelCredentials()),
  call: new CredentialsRegistry('call', [
    createJwtTokenFileType({ clock: systemClock, random: () => 0.5 }),
  ]),
});

function parse(server: object) {
  const support = { ...credentials.support, certificateProviders: new Set<string>() };
  return parseBootstrap({ xds_servers: [server] }, 'test', support);
}

describe('call credentials in the bootstrap (gRFC A97)', () => {
  const server = { server_uri: 'a', channel_creds: [{ type: 'insecure' }] };

  it('are those of a supported type', () => {
    const token = { type: 'jwt_token_file', config: { jwt_token_file: '/t' } };
    const parsed = parse({ ...server, call_creds: [{ type: 'oauth' }, token] });
    expect(parsed.ok && parsed.value.servers[0]?.callCreds).toEqual([token]);
  });

  it.each([
    [undefined, 'config.jwt_token_file: field not present'],
    [{}, 'config.jwt_token_file: field not present'],
    [{ jwt_token_file: '' }, 'config.jwt_token_file: must not be empty'],
    [{ jwt_token_file: 1 }, 'config.jwt_token_file: must be a string'],
  ])('make the bootstrap invalid with the configuration %j', (config, mistake) => {
    expect(parse({ ...server, call_creds: [{ type: 'jwt_token_file', config }] })).toEqual({
      ok: false,
      error: [`xds_servers[0].call_creds[0].${mistake}`],
    });
  });
});

describe('a management server that requires a token', () => {
  let folder: string;
  let server: ByteServer;
  const cleanups: (() => void)[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'jwt-'));
    const pair = {
      cert_chain: readFileSync(certificate('server.pem')),
      private_key: readFileSync(certificate('server.key')),
    };
    server = await new ByteServer(
      (call) => call.write(String(call.metadata.get('authorization'))),
      'localhost:0',
      ServerCredentials.createSsl(null, [pair]),
    ).start();
  });
  afterAll(() => {
    for (const cleanup of cleanups) cleanup();
    server.stop();
    rmSync(folder, { recursive: true });
  });

  const tls = { type: 'tls', config: { ca_certificate_file: certificate('ca.pem') } };

  function configFor(name: string, channelCreds = tls): ServerConfig {
    return {
      serverUri: server.address,
      channelCreds,
      features: new Set<string>(),
      key: '',
      callCreds: [{ type: 'jwt_token_file', config: { jwt_token_file: join(folder, name) } }],
    };
  }

  function open(name: string): StreamRecorder {
    const factory = new GrpcTransportFactory({ credentials, clock: systemClock });
    const transport = factory.create(configFor(name));
    if (!transport.ok) throw new Error(transport.error);
    cleanups.push(() => transport.value.close());
    const recorder = new StreamRecorder();
    transport.value.openStream(METHOD, recorder).read();
    return recorder;
  }

  it('receives the token of the file with each stream', async () => {
    const token = tokenOf({ exp: Date.now() / 1000 + 3600 });
    writeFileSync(join(folder, 'good'), `${token}\n`);
    const recorder = open('good');
    await recorder.untilMessage();
    expect(recorder.messages).toEqual([`Bearer ${token}`]);
  });

  it('receives no stream without a token, and the client reports why', async () => {
    writeFileSync(join(folder, 'bad'), 'what is this');
    const [absent, bad] = [await open('absent').untilClosed(), await open('bad').untilClosed()];
    expect([absent, bad]).toEqual([
      expect.objectContaining({
        code: 14,
        details: expect.stringMatching(/jwt_token_file \S+absent: ENOENT/),
        hasAnswered: false,
      }),
      expect.objectContaining({
        code: 16,
        details: expect.stringMatching(/jwt_token_file \S+bad: not a JWT/),
        hasAnswered: false,
      }),
    ]);
  });

  it('receives the token over a secure connection only', () => {
    const insecure = { type: 'insecure', config: { ca_certificate_file: '' } };
    expect(credentials.create(configFor('good', insecure))).toEqual({
      ok: false,
      error:
        'call credentials of type "jwt_token_file" are not sent over channel credentials of type "insecure"',
    });
  });
});
