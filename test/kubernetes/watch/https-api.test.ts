import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { TLSSocket } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { loadApiAccess } from '../../../packages/kubernetes/src/api/api-access';
import { HttpsApi } from '../../../packages/kubernetes/src/api/https-api';
import type {
  ApiAnswer,
  ApiFailure,
  ApiRequest,
} from '../../../packages/kubernetes/src/api/kubernetes-api';
import { systemClock, type Clock } from '../../../src/util/clock';
import type { Result } from '../../../src/util/result';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { HttpProxy } from '../../support/http-proxy';
import { accessTo, loadClientNode, writeKubeconfig } from './kubernetes-access';
import { TestCertificates } from '../../support/test-certificates';

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-kube-api-'));
const path = join(folder, 'kubeconfig');
let client: unknown;
beforeAll(async () => {
  client = await loadClientNode();
});
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});
afterAll(() => rmSync(folder, { recursive: true }));

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  closers.push(() => server.close());
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return address.port;
}

/** An API in plain text, whose server answers as the test says. */
async function createApi(
  respond: Respond,
  user: object = { token: 't1' },
  clock: Clock = systemClock,
) {
  const server = createServer(respond);
  const port = await listen(server);
  closers.push(() => server.closeAllConnections());
  const cluster = { 'insecure-skip-tls-verify': true };
  const access = accessTo(client, { path, server: `http://127.0.0.1:${port}/`, cluster, user });
  const api = new HttpsApi({ access, clock });
  closers.push(() => api.close());
  return { api, port, server };
}

function call(api: HttpsApi, request: ApiRequest): Promise<Result<ApiAnswer, ApiFailure>> {
  return new Promise((resolve) => void api.call(request, resolve));
}

/** Watches, and writes down what comes of it. */
function watch(api: HttpsApi) {
  const seen: unknown[] = [];
  const handle = api.watch(
    { path: '/api/v1/services', query: { watch: 'true' } },
    {
      onOpen: () => void seen.push('open'),
      onEvent: (json) => void seen.push(json),
      onOversized: () => void seen.push('oversized'),
      onEnd: (failure) => void seen.push(failure === undefined ? 'end' : { failure }),
    },
  );
  return { seen, handle };
}

/** A watch of a server that sends some texts and then ends, or not. */
async function watchTexts(texts: readonly string[], end: (response: ServerResponse) => void) {
  const { api } = await createApi((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const send = (index: number) => {
      const text = texts[index];
      if (text === undefined) return end(response);
      response.write(text, () => setImmediate(() => send(index + 1)));
    };
    send(0);
  });
  const { seen } = watch(api);
  await eventually(
    () => seen,
    (all) => all.at(-1) === 'end' || hasFailure(all.at(-1)),
  );
  return seen;
}

function hasFailure(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'failure' in value;
}

const end = (response: ServerResponse) => void response.end();

describe('a request', () => {
  it('has its query, its headers, a token and a body', async () => {
    const received: unknown[] = [];
    const { api } = await createApi((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        const { authorization, accept, 'content-type': type } = request.headers;
        received.push([request.method, request.url, authorization, accept, type, body]);
        response.end('{"kind":"Status"}');
      });
    });
    await call(api, { path: '/api/v1/services', query: { continue: 'a b&c' }, accept: 'x/y' });
    const contentType = 'application/merge-patch+json';
    const answer = await call(api, { method: 'PATCH', path: '/p', body: { a: 'é' }, contentType });
    expect(received).toEqual([
      ['GET', '/api/v1/services?continue=a+b%26c', 'Bearer t1', 'x/y', undefined, ''],
      ['PATCH', '/p', 'Bearer t1', 'application/json', contentType, '{"a":"é"}'],
    ]);
    expect(answer).toEqual({ ok: true, value: { status: 200, body: { kind: 'Status' } } });
  });

  it.each<[string, Respond, Partial<ApiFailure>]>([
    [
      'a Status',
      (_, response) =>
        response
          .writeHead(429, { 'retry-after': '3' })
          .end('{"kind":"Status","message":"too\\nmany"}'),
      { status: 429, message: 'HTTP status 429: too\\nmany', retryAfterMs: 3000, isGone: false },
    ],
    [
      'a page of a proxy',
      (_, response) => response.writeHead(502).end('<html>'),
      { status: 502, message: 'HTTP status 502: no message' },
    ],
    [
      'an expired place',
      (_, response) => response.writeHead(410).end('{}'),
      { status: 410, isGone: true },
    ],
    [
      'what is no JSON',
      (_, response) => response.end('{"items":[}'),
      { status: undefined, message: expect.stringContaining('an answer that cannot be read: ') },
    ],
    [
      'too many levels',
      (_, response) => response.end('['.repeat(300)),
      {
        status: undefined,
        message: 'an answer that cannot be read: nested more than 200 levels deep',
      },
    ],
    [
      'half of what it announces',
      (_, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{', () => response.destroy());
      },
      { status: undefined },
    ],
    [
      'a flood',
      (_, response) => {
        const chunk = Buffer.alloc(2 ** 20, ' ');
        const send = () => {
          if (!response.destroyed) response.write(chunk, send);
        };
        send();
      },
      { status: undefined, message: 'an answer of more than 67108864 bytes' },
    ],
    [
      'an error without an end',
      (_, response) => {
        response.writeHead(500);
        response.end('x'.repeat(2 ** 20));
      },
      { status: 500, message: 'HTTP status 500: no message' },
    ],
  ])('fails with %s', async (_, respond, failure) => {
    const { api } = await createApi(respond);
    expect(await call(api, { path: '/' })).toEqual({
      ok: false,
      error: expect.objectContaining(failure),
    });
  });

  it('fails if nothing listens', async () => {
    const { api, server } = await createApi(() => {});
    server.close();
    const answer = await call(api, { path: '/' });
    expect(answer).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('ECONNREFUSED') },
    });
  });

  it('fails if there is no answer within 30 s', async () => {
    const clock = new FakeClock();
    const arrived: unknown[] = [];
    const { api } = await createApi((request) => void arrived.push(request), {}, clock);
    const answer = call(api, { path: '/' });
    await eventually(
      () => arrived.length,
      (count) => count > 0,
    );
    clock.advance(30_000);
    expect(await answer).toMatchObject({ error: { message: 'no answer within 30.0 s' } });
  });

  it('goes on another connection if the one that was kept is closed as it is used again', async () => {
    let count = 0;
    const { api } = await createApi((request, response) => {
      // The second request is on the connection of the first one, which is reset.
      if (++count === 2) request.socket.resetAndDestroy();
      else response.end(`{"count":${count}}`);
    });
    await call(api, { path: '/' });
    expect(await call(api, { path: '/' })).toMatchObject({ value: { body: { count: 3 } } });
  });

  it('is sent once more with credentials that are read again if they are refused', async () => {
    const tokens: unknown[] = [];
    const { api, port } = await createApi((request, response) => {
      tokens.push(request.headers.authorization);
      response.writeHead(request.headers.authorization === 'Bearer t2' ? 200 : 401).end('{}');
    });
    const server = `http://127.0.0.1:${port}`;
    const cluster = { 'insecure-skip-tls-verify': true };
    writeKubeconfig({ path, server, cluster, user: { token: 't2' } });
    expect(await call(api, { path: '/' })).toMatchObject({ ok: true });
    writeKubeconfig({ path, server, cluster, user: { token: 't3' } });
    await call(api, { path: '/' });
    expect(tokens).toEqual(['Bearer t1', 'Bearer t2', 'Bearer t2']);
  });

  it('has the token of a plugin, or fails with what the plugin says', async () => {
    const credential = { kind: 'ExecCredential', status: { token: 'from-plugin' } };
    const script = `console.log(${JSON.stringify(JSON.stringify(credential))})`;
    const plugin = (code: string) => ({ exec: { command: process.execPath, args: ['-e', code] } });
    const respond: Respond = (request, response) =>
      response.end(JSON.stringify({ token: request.headers.authorization }));
    const { api } = await createApi(respond, plugin(script));
    expect(await call(api, { path: '/' })).toMatchObject({
      value: { body: { token: 'Bearer from-plugin' } },
    });
    const failing = await createApi(
      respond,
      plugin('console.error("log in first");process.exit(1)'),
    );
    expect(await call(failing.api, { path: '/' })).toMatchObject({
      error: { message: 'no credentials: log in first\\n' },
    });
  });

  it('has a token of a file that ends with a newline', async () => {
    const tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'abc\n');
    const { api } = await createApi(
      (request, response) => response.end(JSON.stringify([request.headers.authorization])),
      { 'auth-provider': { name: 'tokenFile', config: { tokenFile } } },
    );
    expect(await call(api, { path: '/' })).toMatchObject({ value: { body: ['Bearer abc'] } });
  });

  it('has the token of the tokenFile of a user as it is now, rather than its token', async () => {
    const tokenFile = join(folder, 'user-token');
    writeFileSync(tokenFile, 'first\n');
    const { api } = await createApi(
      (request, response) => response.end(JSON.stringify([request.headers.authorization])),
      // Like other paths of a kubeconfig, it is relative to its folder.
      { tokenFile: 'user-token', token: 'static' },
    );
    const next = () => call(api, { path: '/' });
    expect(await next()).toMatchObject({ value: { body: ['Bearer first'] } });
    writeFileSync(tokenFile, 'second\n');
    expect(await next()).toMatchObject({ value: { body: ['Bearer second'] } });
    writeFileSync(tokenFile, '\n');
    expect(await next()).toMatchObject({
      error: { message: `no credentials: the tokenFile ${tokenFile} of the kubeconfig is empty` },
    });
    rmSync(tokenFile);
    expect(await next()).toMatchObject({
      error: {
        message: expect.stringContaining(
          `no credentials: the tokenFile ${tokenFile} of the kubeconfig cannot be read: ENOENT`,
        ),
      },
    });
  });

  it('is cancelled by a release', async () => {
    let count = 0;
    const { api } = await createApi((_, response) => void setImmediate(() => response.end('{}')));
    api.call({ path: '/' }, () => count++).release();
    await call(api, { path: '/' });
    expect(count).toBe(0);
  });
});

it('has TLS with the authority and the certificate of a kubeconfig, also through its proxy', async () => {
  const certificates = new TestCertificates();
  closers.push(() => certificates.close());
  const authority = certificates.authority('ca');
  const identity = authority.sign('api', { names: ['IP:127.0.0.1'] });
  const own = authority.sign('me');
  const tls = {
    cert: identity.certificateChain,
    key: identity.privateKey,
    ca: authority.certificate,
  };
  const server = createTlsServer({ ...tls, requestCert: true }, (request, response) => {
    const { socket } = request;
    const peer = socket instanceof TLSSocket ? socket.getPeerCertificate() : undefined;
    response.end(JSON.stringify({ name: peer?.subject.CN }));
  });
  const port = await listen(server);
  closers.push(() => server.closeAllConnections());
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const user = {
    'client-certificate-data': base64(own.certificateChain),
    'client-key-data': base64(own.privateKey),
  };
  const clock = systemClock;
  const open = (cluster: object) => {
    const access = accessTo(client, { path, server: `https://127.0.0.1:${port}`, cluster, user });
    const api = new HttpsApi({ access, clock });
    closers.push(() => api.close());
    return call(api, { path: '/' });
  };
  const trusting = { 'certificate-authority-data': base64(authority.certificate) };
  expect(await open(trusting)).toMatchObject({ value: { body: { name: 'me' } } });
  expect(await open({})).toMatchObject({ ok: false });
  const proxy = await new HttpProxy().start();
  closers.push(() => proxy.stop());
  const proxied = { ...trusting, 'proxy-url': `http://127.0.0.1:${proxy.port}` };
  expect(await open(proxied)).toMatchObject({ value: { body: { name: 'me' } } });
  expect(proxy.targets).toEqual([`127.0.0.1:${port}`]);
});

describe('a watch', () => {
  it('has events, bookmarks alone among them, until it ends', async () => {
    expect(
      await watchTexts(['{"type":"BOOKMARK"}\n', '\n{"type":"A"}\n{"type":"B"}\n'], end),
    ).toEqual(['open', { type: 'BOOKMARK' }, { type: 'A' }, { type: 'B' }, 'end']);
  });

  it('has an event that arrives byte by byte', async () => {
    const texts = Array.from('{"type":"ADDED","n":1}\n');
    expect(await watchTexts(texts, end)).toEqual(['open', { type: 'ADDED', n: 1 }, 'end']);
  });

  it('has no event of a line that is cut', async () => {
    expect(await watchTexts(['{"a":1}\n{"b"'], end)).toEqual(['open', { a: 1 }, 'end']);
    const cut = await watchTexts(['{"a":1}\n', '{"b":1}'], (response) => response.destroy());
    expect(cut.slice(0, 2)).toEqual(['open', { a: 1 }]);
    expect(cut[2]).toMatchObject({ failure: { status: undefined, isGone: false } });
  });

  it('ends with garbage, after which it is not continued', async () => {
    const seen = await watchTexts(['{"a":1}\n{"b":}\n{"c":1}\n'], end);
    expect(seen).toEqual([
      'open',
      { a: 1 },
      { failure: expect.objectContaining({ isGone: true, status: undefined }) },
    ]);
  });

  it('skips an object that is too large', async () => {
    const part = 'x'.repeat(2 ** 20);
    const texts = ['{"a":"', part, part, part, '"}\n{"b":1}\n'];
    expect(await watchTexts(texts, end)).toEqual(['open', 'oversized', { b: 1 }, 'end']);
  });

  it('fails with the status of a refusal', async () => {
    const { api } = await createApi((_, response) =>
      response.writeHead(403).end('{"message":"services is forbidden"}'),
    );
    const { seen } = watch(api);
    await eventually(
      () => seen,
      (all) => all.length > 0,
    );
    expect(seen).toEqual([
      {
        failure: expect.objectContaining({
          status: 403,
          message: 'HTTP status 403: services is forbidden',
        }),
      },
    ]);
  });

  it('ends after 90 s of silence, and not while there is a byte now and then', async () => {
    const clock = new FakeClock();
    const open: ServerResponse[] = [];
    const { api } = await createApi(
      (_, response) => {
        response.writeHead(200).flushHeaders();
        open.push(response);
      },
      {},
      clock,
    );
    const { seen } = watch(api);
    await eventually(
      () => seen,
      (all) => all.includes('open'),
    );
    clock.advance(80_000);
    open[0]?.write('{"a":1}\n');
    await eventually(
      () => seen,
      (all) => all.length === 2,
    );
    clock.advance(80_000);
    expect(seen).toHaveLength(2);
    clock.advance(10_000);
    expect(seen[2]).toMatchObject({ failure: { message: 'nothing received for 90.0 s' } });
  });

  it('has a list complete within 120 s, however slowly it comes', async () => {
    const clock = new FakeClock();
    const open: ServerResponse[] = [];
    const { api } = await createApi(
      (_, response) => {
        response.writeHead(200).flushHeaders();
        open.push(response);
      },
      {},
      clock,
    );
    const answers: Result<unknown, unknown>[] = [];
    api.call({ path: '/slow' }, (answer) => answers.push(answer));
    await eventually(
      () => open,
      ([response]) => response !== undefined,
    );
    // Time passes only once the client has the head.
    await eventually(
      () => clock.pendingTimers,
      (count) => count === 2,
    );
    for (let seconds = 0; seconds < 150 && answers.length === 0; seconds += 10) {
      const sent = open[0]?.write(' ');
      expect(sent).toBe(true);
      await sleep(20);
      clock.advance(10_000);
    }
    expect(answers).toMatchObject([
      { ok: false, error: { message: 'not complete within 120.0 s' } },
    ]);
  });

  it('has nothing more after its release, also of what has been received', async () => {
    const { api } = await createApi((_, response) => response.end('{"a":1}\n{"b":1}\n'));
    let count = 0;
    const handle = api.watch(
      { path: '/' },
      {
        onOpen: () => {},
        onEvent: () => {
          count++;
          handle.release();
        },
        onOversized: () => count++,
        onEnd: () => count++,
      },
    );
    await eventually(
      () => count,
      (events) => events > 0,
    );
    await call(api, { path: '/' });
    expect(count).toBe(1);
  });
});

describe('the configuration', () => {
  const load = (options: Parameters<typeof loadApiAccess>[0]) => {
    const access = loadApiAccess(options, () => client);
    return access.ok ? access.value.address : access.error;
  };

  const missing = Object.assign(
    new Error("Cannot find module '@kubernetes/client-node'\nRequire stack:\n- /app/x.js"),
    { code: 'MODULE_NOT_FOUND' },
  );
  const broken = new TypeError("Cannot read properties of undefined (reading 'bind')");

  it.each([
    [
      'missing, on Node.js 24',
      missing,
      '24.1.0',
      /loaded: npm install \S+-node: Cannot find [^\n]*$/,
    ],
    ['missing, on Node.js 20', missing, '20.20.2', /loaded: npm install \S+-node@1: Cannot find /],
    ['broken, on Node.js 24', broken, '24.1.0', /loaded: npm install \S+-node: Cannot read /],
    [
      'broken, on Node.js 20, which version 2 does not support',
      broken,
      '20.20.2',
      /loaded: version 2 of it needs Node.js 22.19 or later, and this is 20.20.2: npm install \S+-node@1, or use a later Node.js: Cannot read /,
    ],
  ])('says how to install a package that is %s', (_name, error, version, expected) => {
    const load = () => {
      throw error;
    };
    const access = loadApiAccess({}, load, version);
    expect(access.ok ? '' : access.error).toMatch(expected);
    expect(loadApiAccess({}, () => ({}))).toMatchObject({ ok: false });
  });

  it('names what a kubeconfig lacks', () => {
    writeKubeconfig({ path, server: 'https://10.0.0.1:6443/' });
    expect(load({ kubeconfig: path })).toBe('https://10.0.0.1:6443');
    expect(load({ kubeconfig: path, context: 'prod' })).toBe(
      `the kubeconfig ${path} has no cluster for the context "prod"; its contexts are "test"`,
    );
    expect(load({ kubeconfig: folder })).toMatch(/cannot be read: .*directory/);
    expect(load({ kubeconfig: join(folder, 'no') })).toMatch(/cannot be read: ENOENT/);
    const bad = join(folder, 'bad');
    const texts: [string, RegExp][] = [
      ['\n', /is empty$/],
      ['{', /cannot be used: /],
      ['[]', /has no current context$/],
      ['{"clusters":[{"name":"c"}]}', /cannot be used: clusters\[0\]\.cluster is missing/],
    ];
    for (const [text, expected] of texts) {
      writeFileSync(bad, text);
      expect(load({ kubeconfig: bad })).toMatch(expected);
    }
  });
});
