import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { pageAssets } from '../../../packages/page/src/generated/page-assets';
import type { AdminPageOptions } from '../../../packages/page/src/live-page/page-access';
import { servePage, type AdminPage } from '../../../packages/page/src/live-page/page-server';
import { createView, type PageSource, type Row } from '../../../packages/page/src/live-page/view';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { getPage, readPage } from '../../support/page-reader';
import { XdsError } from '../../../src/util/xds-error';

/** A source whose only view has these rows. */
class RowSource implements PageSource {
  readonly about = { kind: 'client', title: 'test' } as const;
  rows: Row[] = [];
  captures = 0;
  /** How often a view was read. */
  views = 0;
  /** How long a capture takes. */
  durationMs = 0;
  isReleased = false;

  constructor(private readonly clock: FakeClock) {}

  capture() {
    this.captures++;
    this.clock.advance(this.durationMs);
    const { rows } = this;
    const view = (request: { offset: number }) => {
      this.views++;
      return createView(rows, request, (row) => row);
    };
    return { view };
  }

  answer(name: string, question: ReadonlyMap<string, string>) {
    return name === 'resource' ? Object.fromEntries(question) : undefined;
  }

  release() {
    this.isReleased = true;
  }
}

const TOKEN = 'a-token-of-a-test';

let clock: FakeClock;
let source: RowSource;
let page: AdminPage;
const sockets: Socket[] = [];

async function start(options: Partial<AdminPageOptions> = {}): Promise<void> {
  clock = new FakeClock();
  source = new RowSource(clock);
  page = await servePage({ port: 0, ...options }, () => source, clock);
}

async function openSocket(): Promise<Socket> {
  const socket = connect(page.port, '127.0.0.1');
  socket.on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes, and returns what comes back until the end of the connection. */
async function exchange(text: string): Promise<string> {
  const socket = await openSocket();
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.write(text);
  await once(socket, 'close');
  return received;
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await page.close();
});

describe('the options of a page', () => {
  beforeEach(() => start());

  it.each([
    [{ port: -1 }, 'port of serveAdminPage() must be a number from 0 to 65535, not -1'],
    [{ port: 1.5 }, 'port of serveAdminPage() must be a number from 0 to 65535, not 1.5'],
    [{ port: 0, host: '0.0.0.0' }, 'the host 0.0.0.0 is not loopback and needs a token'],
    [{ port: 0, host: '::' }, 'the host :: is not loopback and needs a token'],
    [{ port: 0, host: '127.evil.example' }, 'is not loopback and needs a token'],
    [{ port: 0, token: 'short' }, 'token of serveAdminPage() must be 16 to 256 letters, digits'],
    [
      { port: 0, token: 'with a space, long enough' },
      'token of serveAdminPage() must be 16 to 256 letters, digits',
    ],
  ])('reject %j with an XdsError', async (options, message) => {
    const refused = servePage(options, () => source, clock);
    await expect(refused).rejects.toBeInstanceOf(XdsError);
    await expect(refused).rejects.toThrow(message);
  });

  it('have a random token of 128 bits, and another one for each page', async () => {
    const other = await servePage({ port: 0 }, () => new RowSource(clock), clock);
    await other.close();
    const tokens = [page, other].map(({ url }) => /#token=([\w-]{22})$/.exec(url)?.[1]);
    expect(tokens[0]).toBeDefined();
    expect(tokens[0]).not.toBe(tokens[1]);
  });

  it('reject an address that is in use, and release the source', async () => {
    const other = new RowSource(clock);
    await expect(servePage({ port: page.port }, () => other, clock)).rejects.toThrow('EADDRINUSE');
    expect(other.isReleased).toBe(true);
  });
});

describe('a request for a page', () => {
  beforeEach(() => start({ token: TOKEN, allowedHosts: ['admin.example'] }));

  it('is answered for the page itself without a token, since it has no state in it', async () => {
    const { status, headers, text } = await getPage(page, '/', { headers: { authorization: '' } });
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/html; charset=utf-8',
    });
    expect(text).toContain('<title>grpc-xds</title>');
    expect(text).not.toContain(TOKEN);
  });

  it.each(['/', '/assets/page.js', '/api/resource', '/nowhere', '/api/nowhere'])(
    'has the headers of security: %s',
    async (path) => {
      const { headers } = await getPage(page, path);
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringMatching(
          /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
        ) as string,
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      });
      expect(headers).not.toHaveProperty('access-control-allow-origin');
      expect(headers).not.toHaveProperty('set-cookie');
    },
  );

  it.each([
    ['no token', ''],
    ['another token', 'Bearer another-token-of-a-test'],
    ['another scheme', `Basic ${TOKEN}`],
    ['a longer token', `Bearer ${TOKEN}x`],
  ])('for the state is refused with %s', async (_name, authorization) => {
    for (const path of ['/api/stream?view=rows', '/api/resource', '/api/nowhere']) {
      expect(await getPage(page, path, { headers: { authorization } })).toMatchObject({
        status: 401,
      });
    }
    expect(source.captures).toBe(0);
  });

  it('does not take the token from the URL', async () => {
    const path = `/api/resource?token=${TOKEN}`;
    expect(await getPage(page, path, { headers: { authorization: '' } })).toMatchObject({
      status: 401,
    });
  });

  it.each(['evil.example', 'evil.example:80', '127.0.0.1.evil.example', 'localhost.evil.example'])(
    'is refused with the Host %p, as a rebound name has it',
    async (host) => {
      for (const path of ['/', '/api/resource']) {
        expect(await getPage(page, path, { headers: { host } })).toMatchObject({ status: 403 });
      }
    },
  );

  it('is refused with several Host headers, and with none', async () => {
    const twice = 'GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n';
    expect(await exchange(twice)).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(await exchange('GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 403 /);
  });

  it.each([
    'localhost',
    'LOCALHOST:9',
    '127.0.0.1:1234',
    '[::1]:80',
    '10.1.2.3',
    'admin.example:443',
  ])('is answered with the Host %p', async (host) => {
    expect(await getPage(page, '/api/resource', { headers: { host } })).toMatchObject({
      status: 200,
    });
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])(
    'is refused with %s',
    async (method) => {
      for (const path of ['/', '/api/resource']) {
        expect(await getPage(page, path, { method })).toMatchObject({
          status: 405,
          headers: { allow: 'GET, HEAD', connection: 'close' },
        });
      }
    },
  );

  it.each(['cross-site', 'same-site', 'anything'])(
    'is refused from a site that is %s',
    async (site) => {
      const headers = { 'sec-fetch-site': site };
      expect(await getPage(page, '/', { headers })).toMatchObject({ status: 403 });
      expect(await getPage(page, '/api/resource', { headers })).toMatchObject({ status: 403 });
    },
  );

  it('is answered if it opens a link of another site, but has no state without the token', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' };
    expect(await getPage(page, '/', { headers })).toMatchObject({ status: 200 });
    const withoutToken = { headers: { ...headers, authorization: '' } };
    expect(await getPage(page, '/api/about', withoutToken)).toMatchObject({ status: 401 });
  });

  it('is refused with a body', async () => {
    const head = `GET / HTTP/1.1\r\nHost: localhost\r\n`;
    expect(await exchange(`${head}Content-Length: 5\r\n\r\nhello`)).toMatch(/^HTTP\/1\.1 400 /);
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`;
    expect(await exchange(chunked)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('has no body in the answer to HEAD', async () => {
    for (const path of ['/', '/api/resource', '/api/stream?view=rows']) {
      const { status, text } = await getPage(page, path, { method: 'HEAD' });
      expect({ status, text }).toEqual({ status: 200, text: '' });
    }
    expect(source.captures).toBe(0);
  });

  it.each([
    '/../package.json',
    '//evil.example/',
    '/assets/../page.html',
    '/assets/',
    '/%2e%2e/x',
    '*',
  ])('leads nowhere with the path %s', async (path) => {
    expect(await getPage(page, path)).toMatchObject({ status: 404 });
  });

  it.each(['', 'view=', 'view=Rows', 'view=rows:-1', 'view=a&view=b&view=c&view=d&view=e'])(
    'for a stream is refused with the query %p',
    async (query) => {
      expect(await getPage(page, `/api/stream?${query}`)).toMatchObject({ status: 400 });
    },
  );
});

describe('the limits of a page', () => {
  beforeEach(() => start({ token: TOKEN }));

  it('are 8 KiB for a request', async () => {
    const target = 'x'.repeat(9000);
    expect(await exchange(`GET /?${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
    expect(await exchange(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${target}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  it('are 8 connections: further ones are closed, and the others are served', async () => {
    const open = await Promise.all(Array.from({ length: 7 }, () => openSocket()));
    const stream = await readPage(page, 'view=rows');
    const ninth = await openSocket();
    ninth.resume();
    await once(ninth, 'close');
    expect(stream.isOver).toBe(false);
    open[0]?.destroy();
    await eventually(
      () => getPage(page, '/').catch(() => undefined),
      (response) => response?.status === 200,
    );
  });

  it('end a connection that does not send a request', async () => {
    const silent = await openSocket();
    const slow = await openSocket();
    slow.write('GET / HTTP/1.1\r\nHost: lo');
    silent.resume();
    slow.resume();
    // The times are those of Node.js: 5 s, checked each second.
    await Promise.all([once(silent, 'close'), once(slow, 'close')]);
  });

  it('are 100 rows of a view, from an offset on, and the last page beyond the end', async () => {
    source.rows = Array.from({ length: 450 }, (_, i) => ({ id: `${i}` }));
    const offsets = ['0', '400', '9999999'];
    for (const [index, offset] of offsets.entries()) {
      const stream = await readPage(page, `view=rows:${offset}`);
      const [message] = await eventually(
        () => stream.messages,
        ({ length }) => length > 0,
      );
      stream.request.destroy();
      const { total, offset: first, rows } = message?.data.views.rows ?? { rows: [] };
      expect([total, first, rows.length]).toEqual([
        450,
        [0, 400, 400][index],
        [100, 50, 50][index],
      ]);
    }
  });

  it('are 80 KiB, compressed, for the page with all its files', () => {
    const sizes = Array.from(pageAssets.values(), ({ text }) => gzipSync(text).length);
    expect(pageAssets.size).toBeGreaterThan(3);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(80 * 1024);
  });

  it('cut a reader off that leaves more than 1 MiB unread, and not the others', async () => {
    const socket = await openSocket();
    const close = once(socket, 'close');
    socket.pause();
    socket.write(
      `GET /api/stream?view=rows HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
    );
    const reader = await readPage(page, 'view=rows');
    await eventually(
      () => source.captures,
      (count) => count > 0,
    );
    // About 2 MB each, so a few fill what the two kernel buffers hold, and then that of the process.
    for (let round = 0; round < 20; round++) {
      source.rows = Array.from({ length: 200 }, (_, i) => ({
        id: `${i}`,
        text: `${round}`.repeat(10_000),
      }));
      clock.advance(250);
      await eventually(
        () => reader.messages.length,
        (count) => count >= round + 2,
      );
    }
    socket.resume();
    await close;
    expect(reader.isOver).toBe(false);
  });
});

describe('the stream of a page', () => {
  beforeEach(() => start());

  it('has a snapshot, then what has changed, at most four times a second', async () => {
    source.rows = [
      { id: 'a', value: 1 },
      { id: 'b', value: 1 },
    ];
    const stream = await readPage(page, 'view=rows');
    await eventually(
      () => stream.messages,
      ({ length }) => length === 1,
    );
    expect(stream.messages[0]).toEqual({
      event: 'snapshot',
      data: {
        revision: 1,
        about: source.about,
        views: { rows: { total: 2, offset: 0, order: ['a', 'b'], rows: source.rows } },
      },
    });
    source.rows = [
      { id: 'a', value: 1 },
      { id: 'b', value: 2 },
    ];
    clock.advance(249);
    expect(source.captures).toBe(1);
    clock.advance(1);
    await eventually(
      () => stream.messages,
      ({ length }) => length === 2,
    );
    expect(stream.messages[1]).toEqual({
      event: 'delta',
      data: {
        revision: 2,
        views: { rows: { total: 2, offset: 0, rows: [{ id: 'b', value: 2 }] } },
      },
    });
    source.rows = [{ id: 'c' }, { id: 'a', value: 1 }];
    clock.advance(250);
    await eventually(
      () => stream.messages,
      ({ length }) => length === 3,
    );
    expect(stream.messages[2]?.data).toEqual({
      revision: 3,
      views: { rows: { total: 2, offset: 0, order: ['c', 'a'], rows: [{ id: 'c' }] } },
    });
    expect(source.captures).toBe(3);
  });

  it('has a heartbeat after 15 s without a change', async () => {
    const stream = await readPage(page, 'view=rows');
    await eventually(
      () => stream.messages,
      ({ length }) => length === 1,
    );
    clock.advance(15_000);
    await eventually(
      () => stream.comments,
      ({ length }) => length === 1,
    );
    clock.advance(15_000);
    await eventually(
      () => stream.comments,
      ({ length }) => length === 2,
    );
    expect(stream.messages).toHaveLength(1);
    expect(stream.comments[0]).toBe(': heartbeat');
  });

  it.each([
    ['takes 5 % of the time at most', 30, 570],
    ['shows a change within two seconds, though captures are slow', 100, 1900],
    ['takes 20 % of the time at most, however slow captures are', 500, 2000],
  ])(
    '%s: after captures of %i ms the next one is %i ms later',
    async (_name, durationMs, restMs) => {
      source.durationMs = durationMs;
      const stream = await readPage(page, 'view=rows');
      await eventually(
        () => stream.messages,
        ({ length }) => length === 1,
      );
      // One that is slow alone is not waited for.
      clock.advance(250);
      expect(source.captures).toBe(2);
      clock.advance(restMs - 1);
      expect(source.captures).toBe(2);
      clock.advance(1);
      expect(source.captures).toBe(3);
    },
  );

  it('is captured once for all readers, and not at all without one', async () => {
    const streams = [await readPage(page, 'view=rows'), await readPage(page, 'view=rows')];
    await eventually(
      () => streams,
      (all) => all.every(({ messages }) => messages.length === 1),
    );
    expect(source.captures).toBe(1);
    clock.advance(250);
    expect(source.captures).toBe(2);
    for (const { request } of streams) request.destroy();
    await eventually(
      () => {
        const before = source.captures;
        clock.advance(1000);
        return source.captures - before;
      },
      (count) => count === 0,
    );
    expect(clock.pendingTimers).toBe(0);
  });

  it('has each view read once for all readers who request the same of it', async () => {
    source.rows = [{ id: 'a' }];
    const queries = ['view=rows&filter=a', 'view=rows&filter=a', 'view=rows&filter=b'];
    const streams = await Promise.all(queries.map((query) => readPage(page, query)));
    await eventually(
      () => streams,
      (all) => all.every(({ messages }) => messages.length === 1),
    );
    source.rows = [{ id: 'b' }];
    source.views = 0;
    clock.advance(250);
    expect(source.views).toBe(2);
    await eventually(
      () => streams,
      (all) =>
        all.every(({ messages }) => messages[1]?.data.views['rows']?.rows[0]?.['id'] === 'b'),
    );
  });

  it('does not wait longer because other readers come and go', async () => {
    const stream = await readPage(page, 'view=rows');
    await eventually(
      () => stream.messages,
      ({ length }) => length === 1,
    );
    for (let i = 0; i < 3; i++) {
      clock.advance(80);
      const other = await readPage(page, 'view=rows');
      await eventually(
        () => other.messages,
        ({ length }) => length === 1,
      );
      other.request.destroy();
    }
    expect(source.captures).toBe(1);
    clock.advance(10);
    expect(source.captures).toBe(2);
  });

  it('ends when the page is closed, and leaves nothing behind', async () => {
    const stream = await readPage(page, 'view=rows');
    await page.close();
    await eventually(
      () => stream.isOver,
      (isOver) => isOver,
    );
    expect(source.isReleased).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });
});
