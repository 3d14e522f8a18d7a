import {
  credentials,
  InterceptingCall,
  Metadata,
  status,
  type ServerCredentials,
} from '@grpc/grpc-js';
import {
  createControlChannel,
  type ControlChannel,
  type ControlChannelOptions,
  type LookupResult,
} from '../../../src/lb/rls/control-channel';
import { systemClock } from '../../../src/util/clock';
import { MAX_LOOKUP_RESPONSE_BYTES } from '../../../src/util/limits';
import { freePort } from '../../support/free-port';
import { eventually } from '../../support/eventually';
import { LookupServer, type LookupAnswer } from '../../support/lookup-server';
import { SilentServer } from '../../support/silent-server';
import { TestCertificates } from '../../support/test-certificates';
import { serverTls } from '../../support/tls';

const certificates = new TestCertificates();
const root = certificates.authority('root');

afterAll(() => certificates.close());

describe('the channel to a lookup service', () => {
  let server: LookupServer;
  let channel: ControlChannel | undefined;
  let recoveries = 0;

  const start = async (serverCredentials?: ServerCredentials) => {
    server = await new LookupServer(serverCredentials).start();
  };
  const connect = (options: Partial<ControlChannelOptions> = {}): ControlChannel => {
    const created = createControlChannel({
      target: server.address,
      credentials: credentials.createInsecure(),
      authority: 'echo.test:50051',
      options: {},
      childOptions: undefined,
      serviceConfig: undefined,
      timeoutMs: 5000,
      clock: systemClock,
      onRecovered: () => recoveries++,
      ...options,
    });
    if (!created.ok) throw new Error(created.error);
    channel = created.value;
    return channel;
  };
  const lookUp = (of: ControlChannel, keys: object = { to: 'a' }) =>
    new Promise<readonly [LookupResult, boolean]>((resolve) => {
      const lookup = {
        keys: new Map(Object.entries<string>({ ...keys })),
        reason: 2,
        staleHeaderData: 'old',
      } as const;
      of.lookUp(lookup, (...result) => resolve(result));
    });

  beforeEach(async () => {
    recoveries = 0;
    await start();
  });
  afterEach(() => {
    channel?.close();
    server.stop();
  });

  it('sends keys, reason and header data, with the authority of its channel', async () => {
    server.answer = () => ({ targets: ['', 'one', 'two'], headerData: 'new' });
    const result = await lookUp(connect());
    expect(result).toEqual([
      { ok: true, value: { targets: ['one', 'two'], headerData: 'new' } },
      true,
    ]);
    expect(server.requests).toEqual([
      {
        targetType: 'grpc',
        keyMap: new Map([['to', 'a']]),
        reason: 2,
        staleHeaderData: 'old',
      },
    ]);
    expect(server.authority).toBe('echo.test:50051');
  });

  it.each<[string, LookupAnswer, string, boolean]>([
    ['refuses', { code: status.PERMISSION_DENIED, details: 'no' }, 'PERMISSION_DENIED: no', false],
    ['is too slow', 'never', 'DEADLINE_EXCEEDED: ', false],
    ['returns no targets', { targets: ['', ''] }, 'the response has no targets', true],
    ['returns nothing', Buffer.alloc(0), 'the response has no targets', true],
    ['returns a malformed message', Buffer.of(0x1a, 9), 'malformed message: ', true],
    [
      'returns header data that is none',
      { targets: ['a'], headerData: 'a\nb' },
      'header_data is not a valid header value',
      true,
    ],
    [
      'returns more than 16 KiB',
      { targets: ['a'.repeat(MAX_LOOKUP_RESPONSE_BYTES)] },
      'RESOURCE_EXHAUSTED: ',
      false,
    ],
  ])('has an error when the service %s', async (_what, answer, error, isAccepted) => {
    server.answer = () => answer;
    const [result, accepted] = await lookUp(
      connect({ timeoutMs: answer === 'never' ? 100 : 5000 }),
    );
    expect(result).toEqual({ ok: false, error: expect.stringContaining(error) });
    expect(accepted).toBe(isAccepted);
  });

  it('has an error when the service cannot be reached or does not answer the connection', async () => {
    const refused = await lookUp(connect({ target: `127.0.0.1:${await freePort()}` }));
    expect(refused).toEqual([{ ok: false, error: expect.stringMatching(/^UNAVAILABLE: /) }, false]);
    channel?.close();
    const silent = new SilentServer();
    const target = `127.0.0.1:${await silent.listen()}`;
    const [slow] = await lookUp(connect({ target, timeoutMs: 100 }));
    expect(slow).toEqual({ ok: false, error: expect.stringMatching(/^DEADLINE_EXCEEDED: /) });
    silent.close();
  });

  it('says when the service can be reached again, and is silent after it is closed', async () => {
    const used = connect({ childOptions: { 'grpc.initial_reconnect_backoff_ms': 100 } });
    await lookUp(used);
    expect(recoveries).toBe(0);
    server.stop();
    await eventually(async () => (await lookUp(used))[0].ok, false);
    await server.start();
    await eventually(() => recoveries, 1);
    let results = 0;
    server.answer = () => 'never';
    used.lookUp({ keys: new Map(), reason: 1, staleHeaderData: '' }, () => results++);
    used.close();
    used.lookUp({ keys: new Map(), reason: 1, staleHeaderData: '' }, () => results++);
    server.stop();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect([results, recoveries]).toEqual([0, 1]);
  });

  it('uses the credentials of its channel, and compares the certificate with the same name', async () => {
    server.stop();
    await start(serverTls(root.sign('lookup', { names: ['DNS:echo.test'] })));
    const token = credentials.createFromMetadataGenerator((_options, callback) => {
      const metadata = new Metadata();
      metadata.set('authorization', 'Bearer t');
      callback(null, metadata);
    });
    const tls = credentials.createSsl(Buffer.from(root.certificate));
    const composed = credentials.combineChannelCredentials(tls, token);
    expect(await lookUp(connect({ credentials: composed }))).toMatchObject([{ ok: true }, true]);
    expect(server.metadata.get('authorization')).toEqual(['Bearer t']);
    channel?.close();
    const [other] = await lookUp(connect({ credentials: composed, authority: 'other.test' }));
    expect(other).toMatchObject({ ok: false });
    channel?.close();
    const [named] = await lookUp(
      connect({
        credentials: composed,
        authority: 'other.test',
        options: { 'grpc.ssl_target_name_override': 'echo.test' },
      }),
    );
    expect(named).toMatchObject({ ok: true });
  });

  it('has the service config and child channel options that it is given', async () => {
    const methods: string[] = [];
    const serviceConfig = JSON.stringify({
      methodConfig: [
        {
          name: [{}],
          retryPolicy: {
            maxAttempts: 3,
            initialBackoff: '0.01s',
            maxBackoff: '0.01s',
            backoffMultiplier: 1,
            retryableStatusCodes: ['UNAVAILABLE'],
          },
        },
      ],
    });
    let failures = 2;
    server.answer = () =>
      failures-- > 0 ? { code: status.UNAVAILABLE } : { targets: ['retried'] };
    const childOptions: ControlChannelOptions['childOptions'] = {
      interceptors: [
        (options, nextCall) => {
          methods.push(options.method_definition.path);
          return new InterceptingCall(nextCall(options));
        },
      ],
    };
    expect(await lookUp(connect({ serviceConfig, childOptions }))).toMatchObject([
      { ok: true, value: { targets: ['retried'] } },
      true,
    ]);
    expect(methods).toEqual(['/grpc.lookup.v1.RouteLookupService/RouteLookup']);
  });

  it('is an error if it cannot be created', () => {
    const options = { target: '', serviceConfig: 'x' };
    expect(() => connect(options)).toThrow();
  });
});
