import { Server, status, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { credentials } from '../../../src/grpc-js';
import type { GrpcService } from '../../../src/http-filters/grpc-service/grpc-service-parser';
import {
  SideChannels,
  type SideCallResult,
} from '../../../src/http-filters/grpc-service/side-channels';
import { CredentialsRegistry } from '../../../src/security/credentials/credentials-registry';
import { builtInChannelCredentials } from '../../../src/security/credentials/management-credentials';
import { createServiceCredentials } from '../../../src/security/credentials/service-credentials';
import { systemClock } from '../../../src/util/clock';
import { err, ok } from '../../../src/util/result';
import { silentLogger } from '../../../src/util/logger';
import {
  CertificateProviderRegistry,
  CertificateProviders,
} from '../../../src/security/providers/certificate-providers';
import { MAX_SERVICE_ANSWER_BYTES } from '../../../src/util/limits';
import { TestCertificates } from '../../support/test-certificates';
import { serverTls, useFolder } from '../../support/tls';
import { echoMethod } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import { bind } from '../../support/listen';

const service = (target: string, extra: Partial<GrpcService> = {}): GrpcService => ({
  target,
  channelCreds: { type: 'insecure', config: undefined },
  callCreds: [],
  timeoutMs: undefined,
  metadata: [],
  key: `key of ${target}`,
  ...extra,
});

const create = () => new SideChannels(() => ok(credentials.createInsecure()), systemClock);
const call = (channels: SideChannels, to: GrpcService, request = Buffer.from('hello')) =>
  new Promise<SideCallResult>((resolve) => {
    channels.call(to, echoMethod.path, request, Infinity, resolve);
  });

describe('the channels to services', () => {
  let server: Server;
  let target: string;
  let peers: Set<string>;
  let answer: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => void;

  beforeEach(async () => {
    peers = new Set();
    answer = (_call, callback) => callback(null, Buffer.from('answer'));
    server = new Server();
    const say = (received: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
      peers.add(received.getPeer());
      answer(received, callback);
    };
    server.addService({ say: echoMethod }, { say });
    target = `127.0.0.1:${await bind(server)}`;
  });
  afterEach(() => server.forceShutdown());

  it('are shared by key, and close with their last user', async () => {
    const channels = create();
    const first = channels.retain(service(target));
    const second = channels.retain(service(target, { timeoutMs: 5000 }));
    for (let i = 0; i < 3; i++) await call(channels, service(target));
    expect([peers.size, channels.count]).toEqual([1, 1]);
    first.release();
    first.release();
    await call(channels, service(target));
    expect([peers.size, channels.count]).toEqual([1, 1]);
    second.release();
    expect(channels.count).toBe(0);
  });

  it('stay open while a call waits', async () => {
    const channels = create();
    const handle = channels.retain(service(target));
    let release: () => void = () => {};
    answer = (_call, callback) => (release = () => callback(null, Buffer.from('late')));
    const waiting = call(channels, service(target));
    await eventually(() => peers.size, 1);
    handle.release();
    expect(channels.count).toBe(1);
    release();
    expect(await waiting).toEqual(ok(Buffer.from('late')));
    expect(channels.count).toBe(0);
  });

  it('send the headers of the service, and none else', async () => {
    let seen: unknown;
    answer = ({ metadata }, callback) => {
      seen = [metadata.get('a'), metadata.get('b-bin')];
      callback(null, Buffer.alloc(0));
    };
    const metadata = [
      ['a', '1'],
      ['a', '2'],
      ['b-bin', Buffer.from([1])],
    ] as const;
    await call(create(), service(target, { metadata }));
    expect(seen).toEqual([['1, 2'], [Buffer.from([1])]]);
  });

  it('end calls after the timeout of the service, and those that are cancelled', async () => {
    answer = () => {};
    const channels = create();
    const slow = service(target, { timeoutMs: 50 });
    expect(await call(channels, slow)).toMatchObject({ error: { code: status.DEADLINE_EXCEEDED } });
    const onResult = jest.fn();
    channels.call(service(target), echoMethod.path, Buffer.alloc(0), Infinity, onResult).release();
    await eventually(() => channels.count, 0);
    expect(onResult).not.toHaveBeenCalled();
  });

  it('fail calls whose credentials cannot be created, or whose server is not there', async () => {
    const channels = new SideChannels(() => err('no credentials'), systemClock);
    expect(await call(channels, service(target))).toEqual(
      err({ code: status.UNAVAILABLE, details: 'no credentials' }),
    );
    server.forceShutdown();
    expect(await call(create(), service(target))).toMatchObject({
      error: { code: status.UNAVAILABLE },
    });
    expect(channels.count).toBe(0);
  });

  it('read no answer that is too large', async () => {
    answer = (_call, callback) => callback(null, Buffer.alloc(MAX_SERVICE_ANSWER_BYTES + 1));
    expect(await call(create(), service(target))).toMatchObject({
      error: { code: status.RESOURCE_EXHAUSTED },
    });
  });
});

describe('the credentials of services', () => {
  const registry = new CredentialsRegistry('channel', builtInChannelCredentials());
  const instances = new CertificateProviders({
    types: new CertificateProviderRegistry(),
    clock: systemClock,
    logger: silentLogger,
  });
  const make = createServiceCredentials(registry, [], instances, systemClock);
  const token = { type: 'access_token', config: { token: 'secret-token' } };
  const certificates = new TestCertificates();
  const folder = useFolder();
  afterAll(() => certificates.close());

  it('send a token over TLS, and not without', async () => {
    const root = certificates.authority('root');
    let seen: readonly unknown[] = [];
    const server = new Server();
    server.addService(
      { say: echoMethod },
      {
        say: ({ metadata }: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
          seen = metadata.get('authorization');
          callback(null, Buffer.alloc(0));
        },
      },
    );
    const tls = serverTls(root.sign('authz', { names: ['DNS:localhost'] }));
    const secure = await bind(server, tls);
    const plain = await bind(server);
    const channels = new SideChannels(make, systemClock);
    const config = { ca_certificate_file: folder.write('root.pem', root.certificate) };
    const overTls = service(`localhost:${secure}`, {
      channelCreds: { type: 'tls', config },
      callCreds: [token],
    });
    expect(await call(channels, overTls)).toMatchObject({ ok: true });
    expect(seen).toEqual(['Bearer secret-token']);
    const overPlain = service(`127.0.0.1:${plain}`, { callCreds: [token] });
    expect(await call(channels, overPlain)).toMatchObject({ ok: true });
    expect(seen).toEqual([]);
    server.forceShutdown();
  });

  it('are those of the control plane with a fallback', () => {
    const insecure = { type: 'insecure', config: undefined };
    const xds = { type: 'xds', config: { fallback: insecure } };
    const made = make({ channelCreds: { type: 'xds', config: { fallback: xds } }, callCreds: [] });
    expect(made.ok && made.value.constructor.name).toBe('XdsChannelCredentials');
  });

  it.each([
    [
      { channelCreds: { type: 'none', config: undefined }, callCreds: [] },
      'there are no channel credentials of type "none"',
    ],
    [
      {
        channelCreds: { type: 'insecure', config: undefined },
        callCreds: [{ type: 'jwt_token_file', config: {} }],
      },
      'call credentials of type "jwt_token_file" are not sent over channel credentials of type "insecure"',
    ],
  ])('may be impossible', (service, reason) => {
    expect(make(service)).toEqual(err(reason));
  });
});
