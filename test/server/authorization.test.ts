import { connect, type OutgoingHttpHeaders } from 'node:http2';
import {
  credentials,
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptor,
} from '@grpc/grpc-js';
import { eventually } from '../support/eventually';
import { CertificateFolder } from '../support/identity-server';
import { TestCertificates, type TestCertificate } from '../support/test-certificates';
import { routerFilter, type Json } from '../support/xds-json';
import {
  callServer,
  inlineRoutes,
  rbacFilter,
  serverChain,
  strictTls,
  XdsServerWorld,
} from '../support/xds-server-world';

let world: XdsServerWorld;
const startWorld = async () => {
  world = await XdsServerWorld.start();
};
const stopWorld = () => world.stop();

/** A chain with these filters before the router. */
function chainWith(filters: readonly Json[], extra: Json = {}): Json {
  return serverChain({ ...inlineRoutes(), http_filters: [...filters, routerFilter] }, extra);
}

/** A message of no bytes. */
const MESSAGE = Buffer.alloc(5);

/** Sends headers as they are. @returns the code of the status, or of HTTP if there is none. */
async function send(headers: OutgoingHttpHeaders): Promise<string> {
  const session = connect(`http://127.0.0.1:${world.port}`);
  session.on('error', () => undefined);
  try {
    return await new Promise<string>((resolve) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/test.Echo/Say',
        'content-type': 'application/grpc',
        te: 'trailers',
        ...headers,
      });
      let status: unknown;
      const see = (seen: OutgoingHttpHeaders) =>
        (status = seen['grpc-status'] ?? status ?? seen[':status']);
      stream.on('response', see).on('trailers', see);
      stream.on('error', (error) => resolve(String(error)));
      stream.on('close', () => resolve(String(status)));
      stream.resume();
      if (stream.writable) stream.end(MESSAGE);
    });
  } finally {
    session.close();
  }
}

const header = (name: string, matcher: Json): Json => ({ header: { name, ...matcher } });
const exact = (value: string): Json => ({ string_match: { exact: value } });
const not = (rule: Json): Json => ({ not_rule: rule });

type HeaderCase = readonly [
  name: string,
  rule: Json,
  headers: OutgoingHttpHeaders,
  isMatched: boolean,
];

const HEADER_CASES: readonly HeaderCase[] = [
  ['a name in capitals', header('X-Team', exact('a')), { 'x-team': 'a' }, true],
  ['binary values, without padding', header('t-bin', exact('AQI')), { 't-bin': 'AQI=' }, true],
  ['no padding', header('t-bin', exact('AQI=')), { 't-bin': 'AQI=' }, false],
  ['binary values as they are sent', header('t-bin', exact('AQI')), { 't-bin': 'AQI' }, true],
  ['host as the authority', header('Host', exact('shop')), { ':authority': 'shop' }, true],
  [
    'no other host beside it',
    header('host', exact('evil')),
    { ':authority': 'shop', host: 'evil' },
    false,
  ],
  [
    'the authority beside another host',
    header(':authority', exact('shop')),
    { ':authority': 'shop', host: 'evil' },
    true,
  ],
  ['the authority of a host alone', header(':authority', exact('old')), { host: 'old' }, true],
  ['no te', header('te', { present_match: true }), {}, false],
  ['no te, in a negation', not(header('TE', { present_match: true })), {}, true],
  ['no connection header', header('keep-alive', { present_match: false }), {}, true],
  ['the method', header(':method', exact('POST')), {}, true],
  ['the path', header(':path', exact('/test.Echo/Say')), {}, true],
  ['a content type', header('content-type', exact('application/grpc')), {}, true],
  [
    'the content type that was sent',
    header('content-type', exact('application/grpc+proto')),
    { 'content-type': 'application/grpc+proto' },
    true,
  ],
  [
    'no other content type',
    header('content-type', exact('application/grpc')),
    { 'content-type': 'application/grpc+json' },
    false,
  ],
  ['a missing header', header('x', exact('a')), {}, false],
  ['a missing header, inverted', header('x', { ...exact('a'), invert_match: true }), {}, false],
  ['another value, inverted', header('x', { ...exact('a'), invert_match: true }), { x: 'b' }, true],
  ['an absence', header('x', { present_match: true, invert_match: true }), {}, true],
  ['an absence, stated', header('x', { present_match: false }), {}, true],
  [
    'an absence, stated twice',
    header('x', { present_match: false, invert_match: true }),
    { x: '' },
    true,
  ],
  ['a long value', header('x', { string_match: { suffix: 'bb' } }), { x: 'b'.repeat(8000) }, true],
  ['repeated values', header('x', exact('a, b')), { x: ['a', 'b'] }, true],
  ['repeated binary values', header('t-bin', exact('AQ,Ag')), { 't-bin': ['AQ==', 'Ag=='] }, true],
  ['an empty value', header('x', exact('')), { x: '' }, true],
];

describe('a policy sees of the headers of a request', () => {
  const rules = HEADER_CASES.map(([name, rule]) => ({
    and_rules: { rules: [header('case', exact(name)), rule] },
  }));

  beforeAll(async () => {
    await startWorld();
    world.serve([world.listener([chainWith([rbacFilter('DENY', rules)])])]);
    await world.bind(world.server());
  });
  afterAll(stopWorld);

  it.each(HEADER_CASES)('%s', async (name, _rule, headers, isMatched) => {
    expect(await send({ ...headers, case: name })).toBe(isMatched ? '7' : '0');
  });

  it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'post', 'X'.repeat(1000)])(
    'nothing of a request with the method %s, which is refused',
    async (method) => {
      const { calls } = world;
      expect(await send({ ':method': method })).toBe('13');
      expect(world.calls).toBe(calls);
    },
  );

  it('nothing of a method that no service has', async () => {
    const paths = [
      '/test.Echo/Say?x=1',
      '/test.Echo/%53ay',
      '/test.Echo/Say/',
      '//test.Echo/Say',
      '/',
    ];
    for (const path of paths) expect(await send({ ':path': path })).toBe('12');
    expect(world.calls).toBeLessThanOrEqual(HEADER_CASES.length);
  });
});

describe('with an interceptor of the application that starts calls later', () => {
  beforeAll(startWorld);
  afterAll(stopWorld);

  it('judges each call by its own headers', async () => {
    const started: (() => void)[] = [];
    const startTogether: ServerInterceptor = (_method, call) =>
      new ServerInterceptingCall(call, {
        start(next) {
          started.push(next);
          if (started.length === 3) for (const start of started) start();
        },
      });
    const rule = header('content-type', exact('application/grpc+json'));
    world.serve([world.listener([chainWith([rbacFilter('DENY', [rule])])])]);
    await world.bind(world.server({ interceptors: [startTogether] }));
    const requests = [{ ':method': 'GET' }, { 'content-type': 'application/grpc+json' }, {}];
    expect(await Promise.all(requests.map(send))).toEqual(['13', '7', '0']);
  });
});

describe('a policy sees of the client', () => {
  const certificates = new TestCertificates();
  const root = certificates.authority('root');
  const sign = (...names: readonly string[]) => root.sign('the-subject', { names });
  const clients = {
    uri: sign('URI:spiffe://td/web', 'DNS:web.td'),
    uris: sign('URI:spiffe://td/web', 'URI:https://web.td'),
    dns: sign('DNS:web.td'),
    subject: sign(),
    comma: sign('URI:spiffe://td/x,URI:spiffe://td/web'),
    quoted: sign('DNS:a.td", URI:"spiffe://td/web'),
  };
  const is = (exact: string): Json => ({ authenticated: { principal_name: { exact } } });
  const principals: Readonly<Record<string, Json>> = {
    tls: { authenticated: {} },
    plain: { not_id: { authenticated: {} } },
    uri: is('spiffe://td/web'),
    'not-uri': { not_id: is('spiffe://td/web') },
    dns: is('web.td'),
    subject: is('CN=the-subject'),
    nameless: is(''),
  };
  let folder: CertificateFolder;

  beforeAll(async () => {
    folder = new CertificateFolder();
    folder.writeIdentity(root.sign('server', { names: ['IP:127.0.0.1'] }));
    await startWorld();
    const config = {
      certificate_file: folder.path('tls.crt'),
      private_key_file: folder.path('tls.key'),
      ca_certificate_file: folder.write('ca.crt', root.certificate),
    };
    world.bootstrapExtra = {
      certificate_providers: { default: { plugin_name: 'file_watcher', config } },
    };
  });
  afterAll(() => {
    stopWorld();
    folder.close();
    certificates.close();
  });

  const secured = (own?: TestCertificate) =>
    credentials.createSsl(
      Buffer.from(root.certificate),
      own ? Buffer.from(own.privateKey) : null,
      own ? Buffer.from(own.certificateChain) : null,
    );

  /** Returns the principals that a client is. */
  async function principalsOf(own: ReturnType<typeof secured>): Promise<readonly string[]> {
    const client = world.client(own);
    const found: string[] = [];
    for (const name of Object.keys(principals)) {
      const metadata = new Metadata();
      metadata.set('principal', name);
      const status = await callServer(client, { metadata });
      if (status.startsWith('PERMISSION_DENIED')) found.push(name);
      else expect(status).toBe('OK');
    }
    return found;
  }

  /** Denies each principal to calls that name it. */
  const filters = Object.entries(principals).map(([name, principal]) => ({
    ...rbacFilter('DENY', [header('principal', exact(name))], [principal]),
    name,
  }));

  it('in plain text, nothing', async () => {
    world.serve([world.listener([chainWith(filters, { name: 'plain' })])]);
    await world.bind(world.server());
    expect(await principalsOf(credentials.createInsecure())).toEqual(['plain', 'not-uri']);
  });

  it.each<[client: keyof typeof clients | 'none', expected: readonly string[]]>([
    ['none', ['tls', 'not-uri', 'nameless']],
    ['uri', ['tls', 'uri']],
    ['uris', ['tls', 'uri']],
    ['dns', ['tls', 'not-uri', 'dns']],
    ['subject', ['tls', 'not-uri', 'subject']],
    ['comma', ['tls', 'not-uri']],
    ['quoted', ['tls', 'not-uri']],
  ])('with a certificate of kind %s, its names', async (name, expected) => {
    const tls = strictTls({ require_client_certificate: false });
    world.serve([world.listener([chainWith(filters, { name: 'tls', ...tls })])]);
    const own = secured(name === 'none' ? undefined : clients[name]);
    await eventually(() => callServer(world.client(own)), 'OK');
    expect(await principalsOf(own)).toEqual(expected);
  });
});
