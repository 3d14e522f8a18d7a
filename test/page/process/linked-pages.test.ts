import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LinkedPages } from '../../../packages/page/src/process/linked-pages';
import { systemClock, type Clock } from '../../../src/util/clock';
import { FakeClock } from '../../support/fake-clock';

const TOKEN = 'a-token-of-a-page';

describe('the states of linked pages', () => {
  const endings: (() => void)[] = [];
  afterEach(() => {
    for (const end of endings.splice(0)) end();
  });

  /** Starts a server that answers, and returns the link to it. */
  async function linkTo(answer: RequestListener): Promise<string> {
    const server = createServer(answer);
    endings.push(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/#token=${TOKEN}`;
  }

  const rowsOf = (link: string, clock: Clock = systemClock) =>
    new LinkedPages({ cart: link }, clock).rows();

  it('are what the pages say, asked with the tokens of their links', async () => {
    const asked: unknown[] = [];
    const link = await linkTo(({ url, headers }, response) => {
      asked.push([url, headers.authorization]);
      response.end('{"state":"degraded","flaw":"update rejected\\u202e"}');
    });
    const linked = new LinkedPages({ cart: link, __proto__x: link }, systemClock);
    const row = { state: 'degraded', flaw: 'update rejected\\u{202e}' };
    const [rows, again] = await Promise.all([linked.rows(), linked.rows()]);
    expect(rows).toEqual([
      { id: 'cart', ...row },
      { id: '__proto__x', ...row },
    ]);
    expect(again).toBe(rows);
    expect(asked).toEqual(Array(2).fill(['/api/summary', `Bearer ${TOKEN}`]));
  });

  it.each<[string, RequestListener]>([
    ['refuses', (_request, response) => response.writeHead(401).end('{"state":"ready"}')],
    ['redirects', (_request, response) => response.writeHead(302, { location: '/' }).end()],
    ['is no page', (_request, response) => response.end('<html>')],
    ['has no state that there is', (_request, response) => response.end('{"state":"fine"}')],
    [
      'answers too much',
      (_request, response) => response.end(`{"state":"ready"}${' '.repeat(9999)}`),
    ],
    [
      'ends early',
      (_request, response) =>
        response.writeHead(200, { 'content-length': 99 }).write('{') && response.destroy(),
    ],
  ])('are not known of one that %s', async (_case, answer) => {
    expect(await rowsOf(await linkTo(answer))).toEqual([]);
  });

  it('are not known of one that cannot be reached, or whose link has no token', async () => {
    expect(await rowsOf(`http://127.0.0.1:1/#token=${TOKEN}`)).toEqual([]);
    const link = await linkTo((_request, response) => response.end('{"state":"ready"}'));
    expect(await rowsOf(link.replace(TOKEN, 'short'))).toEqual([]);
  });

  it('are not waited for longer than two seconds, and asked for again after four', async () => {
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const link = await linkTo(() => arrive());
    const clock = new FakeClock();
    const linked = new LinkedPages({ cart: link }, clock);
    const rows = linked.rows();
    await arrived;
    clock.advance(2000);
    expect(await rows).toEqual([]);
    clock.advance(1999);
    expect(linked.rows()).toBe(rows);
    clock.advance(1);
    expect(linked.rows()).not.toBe(rows);
  });
});
