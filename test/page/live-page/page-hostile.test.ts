import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { servePage, type AdminPage } from '../../../packages/page/src/live-page/page-server';
import {
  cellText,
  NO_ROWS,
  parseViewRequests,
  type PageSource,
  type ViewRequest,
} from '../../../packages/page/src/live-page/view';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { getPage, readPage } from '../../support/page-reader';

const TOKEN = 'a-token-of-a-test';
const AUTHORIZED = `GET /api/about HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;

/** A source that counts what it is asked for. */
class CountingSource implements PageSource {
  readonly requests: ViewRequest[] = [];
  answers = 0;
  throws = false;

  readonly about = { kind: 'client', title: 'test' } as const;

  capture() {
    if (this.throws) throw new Error('a bug');
    return {
      view: (request: ViewRequest) => {
        this.requests.push(request);
        return NO_ROWS;
      },
    };
  }

  answer(name: string): object | undefined {
    this.answers++;
    if (name === 'throws') throw new Error('a bug');
    return name === 'resource' ? {} : undefined;
  }

  release() {}
}

let clock: FakeClock;
let source: CountingSource;
let page: AdminPage;
const sockets: Socket[] = [];

beforeEach(async () => {
  clock = new FakeClock();
  source = new CountingSource();
  page = await servePage({ port: 0, token: TOKEN }, () => source, clock);
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await page.close();
});

async function openSocket(): Promise<Socket> {
  const socket = connect(page.port, '127.0.0.1');
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes, and returns the status of the first response; empty if there is none. */
async function exchange(text: string): Promise<string> {
  const socket = await openSocket();
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    if (received.includes('\r\n\r\n')) socket.destroy();
  });
  socket.write(text);
  await once(socket, 'close');
  return received.slice(9, 12);
}

/** The page itself is still there. */
async function isServed(): Promise<void> {
  await eventually(
    () => getPage(page, '/').catch(() => undefined),
    (response) => response?.status === 200,
  );
}

const get = (path: string, ...headers: readonly string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');
const bearer = `Authorization: Bearer ${TOKEN}`;

describe('a page', () => {
  it.each<[string, string, string]>([
    ['a path out of the files', get('/../../etc/passwd'), '404'],
    ['an encoded path out of the files', get('/%2e%2e/%2e%2e/etc/passwd'), '404'],
    ['a path with a zero', get('/%00'), '404'],
    ['an absolute URL', get('http://other.example/api/about', bearer), '404'],
    ['the name of a prototype', get('/api/__proto__', bearer), '404'],
    ['the name of a method of objects', get('/api/constructor', bearer), '404'],
    ['a view of such a name', get('/api/stream?view=__proto__', bearer), '400'],
    ['an offset of NaN', get('/api/stream?view=rows:NaN', bearer), '400'],
    ['an offset of 1e308', get('/api/stream?view=rows:1e308', bearer), '400'],
    ['a long offset', get(`/api/stream?view=rows:${'9'.repeat(8)}`, bearer), '400'],
    ['a long filter', get(`/api/stream?view=rows&filter=${'x'.repeat(257)}`, bearer), '400'],
    ['a query that is no text', get('/api/stream?view=%ff%fe&%00=%zz', bearer), '400'],
    ['500 parameters', get(`/api/resource?${'a=1&'.repeat(500)}`, bearer), '200'],
    ['a long target', get(`/api/resource?target=${'x'.repeat(7000)}`, bearer), '200'],
    ['500 headers', get('/', ...Array.from({ length: 500 }, (_, i) => `x${i}: 1`)), '200'],
    ['2,000 headers', get('/', ...Array.from({ length: 2000 }, (_, i) => `x${i}: 1`)), '431'],
    ['an upgrade', get('/', 'Connection: Upgrade', 'Upgrade: websocket'), '200'],
    ['an expectation', get('/', 'Expect: a miracle'), '417'],
    ['a body in chunks', get('/', 'Transfer-Encoding: chunked'), '400'],
    ['two lengths', get('/', 'Content-Length: 1', 'Content-Length: 2'), '400'],
    ['a tunnel', 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: localhost\r\n\r\n', ''],
    ['a method that is none', 'HELLO / HTTP/1.1\r\nHost: localhost\r\n\r\n', '400'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', '400'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '400'],
    ['a space in a header', 'GET / HTTP/1.1\r\nHost : localhost\r\n\r\n', '400'],
  ])('answers %s', async (_case, request, expected) => {
    expect(await exchange(request)).toBe(expected);
    await isServed();
  });

  it('has no other view or answer for 500 wrong tokens of every length', async () => {
    const tokens = Array.from({ length: 500 }, (_, i) => TOKEN.padEnd(i, 'x').slice(0, i));
    for (const token of tokens.filter((each) => each !== TOKEN)) {
      const headers = { authorization: `Bearer ${token}` };
      const { status } = await getPage(page, '/api/resource', { headers });
      expect(status).toBe(401);
    }
    expect(source.answers).toBe(0);
  });

  it('answers four requests of a connection that does not wait for responses', async () => {
    const socket = await openSocket();
    socket.write(get('/api/resource', bearer).repeat(1000));
    socket.resume();
    // It is closed with requests that were not read, which may be a reset.
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('close', resolve));
    expect(source.answers).toBeLessThanOrEqual(4);
    await isServed();
  });

  it('answers any number of requests that wait for each response', async () => {
    const socket = await openSocket();
    socket.setEncoding('latin1');
    for (let i = 0; i < 50; i++) {
      socket.write(AUTHORIZED);
      const [text] = await once(socket, 'data');
      expect(text).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  it('is served after a thousand connections that were reset half-way', async () => {
    for (let i = 0; i < 1000; i++) {
      const socket = connect(page.port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(AUTHORIZED.slice(0, (i * 7) % (AUTHORIZED.length + 1)));
      if (i % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
    await isServed();
  });

  it('outlives what it cannot show', async () => {
    expect(await getPage(page, '/api/throws')).toMatchObject({ status: 500 });
    const stream = await readPage(page, 'view=rows');
    source.throws = true;
    clock.advance(1000);
    await eventually(
      () => stream.isOver,
      (isOver) => isOver,
    );
    source.throws = false;
    await isServed();
    expect((await readPage(page, 'view=rows')).isOver).toBe(false);
  });
});

describe('the parameters of a stream', () => {
  it.each([
    ['target', 'x'.repeat(8000)],
    ['opened', ','.repeat(8000)],
    ['closed', '<script>,__proto__'],
    ['filter', '<script>'],
  ])('may have any %s', (name, value) => {
    const requests = parseViewRequests(new URLSearchParams({ view: 'rows:1', [name]: value }));
    expect(requests).toMatchObject({ ok: true, value: [{ name: 'rows', offset: 1 }] });
  });

  it.each([
    ['view', '', '"view" must be given 1 to 4 times, each as <name>:<offset>'],
    ['filter', 'x'.repeat(257), '"filter" must be at most 256 characters'],
    ['at', 'garbage', '"at" must be the id of an event'],
  ])('are refused with what %s must be', (name, value, error) => {
    const query = new URLSearchParams({ view: 'rows:1', [name]: value });
    expect(parseViewRequests(query)).toEqual({ ok: false, error });
  });
});

describe('the text of a cell', () => {
  it('is made of the beginning of a long text', () => {
    const text = 'https://user:password@host/'.repeat(2 ** 18);
    expect(cellText(text)).toBe(`${'https://[redacted]@host/'.repeat(80).slice(0, 1024)}…`);
  });

  it('has no part of a password that is longer than what is read', () => {
    const text = `https://user:${'p'.repeat(10_000)}@host`;
    expect(cellText(text)).not.toContain('p:');
    expect(cellText(text)).not.toContain('pp');
  });
});
