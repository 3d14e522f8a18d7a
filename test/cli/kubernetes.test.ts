import { credentials } from '@grpc/grpc-js';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { getPage, readPage } from '../support/page-reader';
import { KubernetesApiServer, serviceObject, sliceObject } from '../support/kubernetes-api-server';
import { TestCertificates } from '../support/test-certificates';
import { systemClock } from '../../src/util/clock';
import { loadClientNode } from '../kubernetes/watch/kubernetes-access';
import { acceptedAs, tokenOf } from '../kubernetes/watch/access/reviewing-api';
import { AdsClient } from '../control-plane/ads-client';
import { LDS } from '../control-plane/resources';
import { FakeIo } from './fake-io';
import { registerAnew } from '../support/mesh';

let clientNode: unknown;

jest.mock('../../src/util/optional-package', () => ({ requireOptional: () => clientNode }));

/** A token of an account that expires in an hour. */
const tokenFor = (account: string, aud = 'grpc-xds', seconds = 3600) =>
  tokenOf({ aud: [aud], exp: Date.now() / 1000 + seconds, sub: account });

describe('grpc-xds kubernetes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cli-kubernetes-'));
  const pathOf = (name: string) => join(folder, name);
  const certificates = new TestCertificates();
  const authority = certificates.authority('authority');
  const cleanUp: (() => void | Promise<void>)[] = [];
  let api: KubernetesApiServer;
  let kubeconfig: string;
  let io: FakeIo;

  beforeAll(async () => {
    clientNode = await loadClientNode();
    const own = authority.sign('control-plane', { names: ['DNS:localhost', 'IP:127.0.0.1'] });
    const web = authority.sign('web', { names: ['URI:spiffe://td/ns/shop/sa/web'] });
    writeFileSync(pathOf('ca.pem'), authority.certificate);
    for (const [name, { certificateChain, privateKey }] of Object.entries({ own, web })) {
      writeFileSync(pathOf(`${name}.pem`), certificateChain);
      writeFileSync(pathOf(`${name}.key`), privateKey);
    }
  });
  beforeEach(async () => {
    api = new KubernetesApiServer();
    kubeconfig = await api.start();
    cleanUp.push(() => api.stop());
    api.reviews.set('tokenreviews', ({ token }) => {
      const [, payload = ''] = String(token).split('.');
      const { sub } = JSON.parse(String(Buffer.from(payload, 'base64url')));
      return acceptedAs(`system:serviceaccount:${sub}`, ['grpc-xds']);
    });
    io = new FakeIo();
  });
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });
  afterAll(() => {
    certificates.close();
    rmSync(folder, { recursive: true });
  });

  const tls = () => ['--tls-cert', pathOf('own.pem'), '--tls-key', pathOf('own.key')];

  /** Starts it, and waits until it is ready. */
  async function serve(...args: readonly string[]) {
    const command = Object.assign(new FakeIo(), { clock: systemClock });
    const common = ['kubernetes', '--kubeconfig', kubeconfig, '--listen', '127.0.0.1:0'];
    const probe = ['--probe', '127.0.0.1:0', '--drain-delay', '0.01', '--drain', '0.05'];
    const ended = command.run(...common, ...probe, ...args);
    cleanUp.push(async () => {
      command.pressCtrlC();
      await ended;
    });
    const address = (await command.until(/^Serving the Services of/)).split(' ').at(-1) ?? '';
    const metrics = (await command.until(/^Probes and metrics on/)).split(' ').at(-1) ?? '';
    const get = async (path: string) => {
      const response = await fetch(metrics.replace('/metrics', path));
      return { status: response.status, text: await response.text() };
    };
    await eventually(
      () => get('/readyz'),
      ({ status }) => status === 200,
    );
    return { address, get, command, ended };
  }

  /** Calls a service by a bootstrap with credentials. */
  function connect(address: string, credentials: object, target = 'web.shop.svc.cluster.local:80') {
    const server = { server_uri: address, server_features: ['xds_v3'], ...credentials };
    const client = new EchoClient(`xds:///${target}`, {
      'grpc_xds.bootstrap': JSON.stringify({
        xds_servers: [server],
        node: { id: 'test' },
      }),
    });
    cleanUp.push(() => client.close());
    return client;
  }

  const withToken = (path: string) => ({
    channel_creds: [{ type: 'tls', config: { ca_certificate_file: pathOf('ca.pem') } }],
    call_creds: [{ type: 'jwt_token_file', config: { jwt_token_file: path } }],
  });

  async function backend(name: string, service = 'web') {
    const started = await EchoBackend.start(name);
    cleanUp.push(() => started.stop());
    api.putService(serviceObject(service));
    api.putSlice(sliceObject(service, started.port));
    return started;
  }

  it('serves a client with a projected token, over TLS, and follows the endpoints', async () => {
    await backend('first');
    const { address, command } = await serve(...tls(), '--audience', 'grpc-xds');
    writeFileSync(pathOf('token'), `${tokenFor('shop:web')}\n`);
    registerAnew();
    const client = connect(address, withToken(pathOf('token')));
    expect(await client.say()).toBe('first');
    const second = await EchoBackend.start('second');
    cleanUp.push(() => second.stop());
    api.putSlice(sliceObject('web', second.port));
    await eventually(
      () => client.say(),
      (name) => name === 'second',
    );
    expect(command.out).toContain(
      'Clients are authenticated by service account tokens for the audience "grpc-xds".',
    );
  });

  it('has a client connect again with its renewed token when the one before expires, and no call fails', async () => {
    await backend('first');
    const { address, get } = await serve(...tls(), '--audience', 'grpc-xds');
    writeFileSync(pathOf('short'), tokenFor('shop:web', 'grpc-xds', 2));
    registerAnew();
    const client = connect(address, withToken(pathOf('short')));
    expect(await client.say()).toBe('first');
    writeFileSync(pathOf('short'), tokenFor('shop:web'));
    // A failed call fails the test.
    await eventually(
      async () => [await client.say(), (await get('/metrics')).text].join(' '),
      (text) => text.includes('grpc_xds_control_plane_streams_total 2'),
    );
    const second = await EchoBackend.start('second');
    cleanUp.push(() => second.stop());
    api.putSlice(sliceObject('web', second.port));
    await eventually(
      () => client.say(),
      (name) => name === 'second',
    );
    const { text } = await get('/metrics');
    expect(text).toContain('grpc_xds_kubernetes_tokens_total{result="accepted"} 2');
    expect(text).toContain('grpc_xds_kubernetes_tokens_total{result="refused"} 0');
    expect(text).toContain('grpc_xds_control_plane_streams 1');
  });

  it('refuses clients without a token, with one of another audience or one that is refused', async () => {
    await backend('first');
    const { address } = await serve(...tls(), '--audience', 'grpc-xds');
    registerAnew();
    writeFileSync(pathOf('other'), tokenFor('shop:web', 'other'));
    const other = connect(address, withToken(pathOf('other')));
    const { code, details } = await other.failure({ deadlineMs: 20_000 });
    expect(code).toBe(14);
    expect(details).toContain(
      'the bearer token is for the audience "other": project one with the audience "grpc-xds"',
    );
    const { channel_creds } = withToken('');
    const none = await connect(address, { channel_creds }).failure({ deadlineMs: 20_000 });
    expect(none.details).toContain('the client has sent no bearer token: add "call_creds"');
    expect(api.reviewed.get('tokenreviews')).toBeUndefined();
    api.reviews.set('tokenreviews', () => ({ authenticated: false }));
    writeFileSync(pathOf('revoked'), tokenFor('shop:web'));
    const revoked = await connect(address, withToken(pathOf('revoked'))).failure();
    expect(revoked.details).toContain('the API server does not accept the bearer token');
  });

  it('shows clients of a namespace only their own one with --visible own', async () => {
    await backend('first');
    const tokens = ['--audience', 'grpc-xds'];
    const { address, command } = await serve(...tls(), ...tokens, '--visible', 'own,shared');
    /** What a client of an account sees: all Listeners. */
    const listenersFor = async (account: string) => {
      const client = new AdsClient(address, {
        channelCredentials: credentials.createSsl(Buffer.from(authority.certificate)),
        headers: { authorization: `Bearer ${tokenFor(account)}` },
      });
      cleanUp.push(() => client.close());
      const stream = client.open();
      stream.subscribe(LDS, [], { node: { id: 'n' } });
      return (await stream.next()).resources.length;
    };
    expect(await listenersFor('shop:web')).toBe(3);
    expect(await listenersFor('bank:web')).toBe(0);
    expect(command.out).toContain(
      'Clients see the Services of their own namespace, and of shared.',
    );
  });

  it('serves clients with certificates', async () => {
    await backend('first');
    const ca = ['--client-ca', pathOf('ca.pem')];
    const { address } = await serve(...tls(), ...ca, '--visible', 'own');
    registerAnew();
    const files = { certificate_file: pathOf('web.pem'), private_key_file: pathOf('web.key') };
    const config = { ca_certificate_file: pathOf('ca.pem') };
    const client = connect(address, {
      channel_creds: [{ type: 'tls', config: { ...config, ...files } }],
    });
    expect(await client.say()).toBe('first');
    const without = connect(address, { channel_creds: [{ type: 'tls', config }] });
    expect((await without.failure({ deadlineMs: 10_000 })).code).toBe(14);
  });

  it('uses a certificate that has been renewed', async () => {
    await backend('first');
    const [cert, key] = [pathOf('renewed.pem'), pathOf('renewed.key')];
    const write = (signer: typeof authority) => {
      const renewed = signer.sign('control-plane', { names: ['IP:127.0.0.1'] });
      writeFileSync(key, renewed.privateKey);
      writeFileSync(cert, renewed.certificateChain);
    };
    write(authority);
    const files = ['--tls-cert', cert, '--tls-key', key];
    const { address } = await serve(...files, '--audience', 'grpc-xds');
    registerAnew();
    writeFileSync(pathOf('token'), tokenFor('shop:web'));
    expect(await connect(address, withToken(pathOf('token'))).say()).toBe('first');
    const next = certificates.authority('next');
    writeFileSync(pathOf('next-ca.pem'), next.certificate);
    write(next);
    const config = { ca_certificate_file: pathOf('next-ca.pem') };
    const channel_creds = [{ type: 'tls', config }];
    const client = connect(address, { ...withToken(pathOf('token')), channel_creds });
    await eventually(
      () => client.say().catch(String),
      (result) => result === 'first',
    );
  });

  it('answers probes, and counts clients, tokens and what they are sent', async () => {
    await backend('first');
    const { address, get } = await serve(...tls(), '--audience', 'grpc-xds');
    registerAnew();
    writeFileSync(pathOf('token'), tokenFor('shop:web'));
    await connect(address, withToken(pathOf('token'))).say();
    expect(await get('/healthz')).toEqual({ status: 200, text: 'ok\n' });
    expect((await get('/other')).status).toBe(404);
    const { text } = await get('/metrics');
    for (const line of [
      'grpc_xds_kubernetes_ready 1',
      'grpc_xds_kubernetes_watch_objects{resource="services",namespace=""} 1',
      'grpc_xds_kubernetes_tokens_total{result="accepted"} 1',
      'grpc_xds_kubernetes_token_reviews_total 1',
      'grpc_xds_control_plane_streams 1',
      'grpc_xds_control_plane_resources_total{type="ClusterLoadAssignment"} 1',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
    expect(text).toMatch(/^(?:# (?:HELP|TYPE) .*\n|[a-z_]+(?:\{[^}]*\})? [\d.e+-]+\n)+$/);
  });

  it('is shown on a live page and in a report, without the tokens of clients', async () => {
    await backend('first');
    api.putService(serviceObject('web', {}, { annotations: { 'grpc-xds/max-requests': 'many' } }));
    const { address, command } = await serve(...tls(), '--audience', 'grpc-xds', '--page', '0');
    const [line = ''] = command.out.filter((each) => each.startsWith('Live page: '));
    const url = line.slice('Live page: '.length);
    const page = { url, port: Number(new URL(url).port), close: () => Promise.resolve() };
    const token = tokenFor('shop:web');
    writeFileSync(pathOf('token'), token);
    registerAnew();
    await connect(address, withToken(pathOf('token'))).say();
    const read = async (...names: readonly string[]) => {
      const views = names.map((view) => `view=${view}`).join('&');
      const reader = await readPage(page, `${views}&target=1`);
      const [first] = await eventually(
        () => reader.messages,
        (messages) => messages.length > 0,
      );
      reader.request.destroy();
      expect(first?.data.about?.kind).toBe('kubernetes');
      return first?.data.views ?? {};
    };
    const shown = {
      ...(await read('clients', 'types', 'services')),
      ...(await read('routes', 'watches', 'events')),
    };
    const rowsOf = (view: string) => shown[view]?.rows;
    expect(rowsOf('clients')).toMatchObject([
      { node: 'test', state: 'acknowledged', identity: 'shop/web', place: 'shop, no zone' },
    ]);
    expect(rowsOf('types')?.map(({ type }) => type)).toContain('ClusterLoadAssignment');
    const problems =
      'grpc-xds/max-requests: must be an integer from 1 to 4294967295, not "many": in use: 1024';
    const service = { name: 'shop/web', ports: '80 grpc', endpoints: '1 of 1 ready', clients: 1 };
    expect(rowsOf('services')).toMatchObject([{ ...service, state: 'ready', problems }]);
    expect(rowsOf('routes')).toEqual([]);
    expect(rowsOf('watches')).toContainEqual(
      expect.objectContaining({ resource: 'services', namespace: 'all', state: 'watching' }),
    );
    expect(rowsOf('watches')).toContainEqual(
      expect.objectContaining({ resource: 'grpcroutes', state: 'not installed', age: 'never' }),
    );
    expect(rowsOf('events')).not.toEqual([]);
    const report = await getPage(page, '/api/inspect');
    expect(JSON.parse(report.text)).toMatchObject({
      isReady: true,
      services: { total: 1, items: [{ name: 'web', clients: 1 }] },
      clients: { total: 1, items: [{ principal: 'shop/web', namespace: 'shop' }] },
    });
    for (const text of [report.text, JSON.stringify(shown)]) {
      for (const part of token.split('.')) expect(text).not.toContain(part);
    }
    expect((await getPage(page, '/api/other')).status).toBe(404);
  });

  it('fails readiness, moves its clients, and saves what it knows, when it stops', async () => {
    await backend('first');
    const saved = ['--saved', pathOf('saved')];
    const { address, get, command, ended } = await serve(
      '--insecure',
      '--drain-delay',
      '0.5',
      ...saved,
    );
    expect(command.out).toContain(
      'Clients are not authenticated, and connections are not encrypted (--insecure): anyone who reaches the port sees every Service.',
    );
    registerAnew();
    const client = connect(address, { channel_creds: [{ type: 'insecure' }] });
    expect(await client.say()).toBe('first');
    command.pressCtrlC();
    await command.until(/stopping: 1 streams are moved within 0.05 s/);
    expect(await get('/readyz')).toEqual({ status: 503, text: 'stopping\n' });
    expect(await ended).toBe(0);
    expect(await client.say()).toBe('first');
    expect(readFileSync(pathOf('saved'), 'utf8')).toContain('"name":"web"');
    expect(command.out.at(-1)).toMatch(/^\d\d:\d\d:\d\dZ stopped$/);
  });

  it.each<[readonly string[], string]>([
    [[], 'give --tls-cert and --tls-key, so that nobody can read'],
    [['--tls-cert', 'a'], 'give both --tls-cert and --tls-key'],
    [['--tls-cert', 'a', '--tls-key', 'b'], 'give --audience for clients with service account'],
    [['--insecure', '--audience', 'a'], 'leave out --audience'],
    [['--insecure', '--client-ca', 'a'], 'leave out --client-ca'],
    [['--insecure', '--visible', 'own'], '--visible needs authenticated clients'],
    [['--insecure', '-n', 'a', '--namespace-selector', 'b'], 'give either --namespace or'],
    [['--insecure', '-n', 'A'], 'Expected names of namespaces'],
    [['--insecure', '--namespace-selector', 'a=b=c'], '"a=b=c" has "=c" at character 4, where'],
    [['--insecure', '--visible', 'shop'], 'Expected all, or own, or own with names'],
    [['--insecure', '--page', '70000'], 'Expected'],
    [['--insecure', '--listen', '18000'], 'Expected HOST:PORT'],
  ])('refuses %j', async (args, error) => {
    expect(await io.run('kubernetes', '--kubeconfig', kubeconfig, ...args)).toBe(2);
    expect(io.errors.join('\n')).toContain(error);
  });

  it('does not start with a certificate that cannot be used, and is not ready then', async () => {
    const start = (cert: string, key: string) =>
      io.run(
        'kubernetes',
        '--kubeconfig',
        kubeconfig,
        '--audience',
        'grpc-xds',
        '--tls-cert',
        pathOf(cert),
        '--tls-key',
        pathOf(key),
      );
    expect(await start('none.pem', 'own.key')).toBe(2);
    expect(io.errors.at(-1)).toMatch(/^error: --tls-cert: .*none\.pem/);
    expect(await start('own.pem', 'none.key')).toBe(2);
    expect(io.errors.at(-1)).toMatch(/^error: --tls-key: .*none\.key/);
    expect(await start('own.pem', 'web.key')).toBe(2);
    expect(io.errors.at(-1)).toMatch(/^error: --tls-cert and --tls-key cannot be used together: /);
    expect(await start('own.key', 'own.key')).toBe(2);
  });

  it('does not start at an address that is taken, or without a kubeconfig', async () => {
    const { address } = await serve('--insecure');
    const port = address.split(':').at(-1) ?? '';
    const start = async (...args: readonly string[]) => {
      const command = new FakeIo();
      expect(await command.run('kubernetes', '--insecure', ...args)).toBe(2);
      return command.errors.join('\n');
    };
    const free = ['--kubeconfig', kubeconfig, '--listen', '127.0.0.1:0'];
    const outputs = await Promise.all([
      start('--kubeconfig', kubeconfig, '--listen', address),
      start(...free, '--probe', address),
      start(...free, '--page', port),
      start('--kubeconfig', '/nowhere'),
    ]);
    const inUse = `error: listen EADDRINUSE: address already in use ${address}`;
    expect(outputs).toEqual([
      expect.stringContaining(`${inUse}; --listen chooses another address`),
      expect.stringContaining(`${inUse}; --probe chooses another address`),
      expect.stringContaining(`${inUse}; --page chooses another port`),
      expect.stringContaining('error: the kubeconfig /nowhere cannot be read'),
    ]);
  });
});
