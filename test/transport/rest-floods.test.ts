import { gzipSync } from 'node:zlib';
import { DiscoveryRequest } from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { readResponse, ResponseReader } from '../../src/transport/rest/discovery-json';
import { RestStream, type RestServer } from '../../src/transport/rest/rest-stream';
import { createHandle } from '../../src/util/handle';
import { ok } from '../../src/util/result';
import type { StreamStatus, XdsStreamHandler } from '../../src/xds-client/transport';
import { FakeClock } from '../support/fake-clock';
import { SlowClock } from '../support/slow-clock';

const LISTENER = 'type.googleapis.com/envoy.config.listener.v3.Listener';

/** A stream whose server answers each request at once. */
class Polls {
  readonly clock = new FakeClock();
  readonly posts: string[][] = [];
  readonly closed: StreamStatus[] = [];
  readonly stream: RestStream;
  messages = 0;

  constructor(
    answer: (count: number) => { status?: number; body: string },
    server: Partial<RestServer> = {},
  ) {
    const handler: XdsStreamHandler = {
      onSent: () => undefined,
      onMessage: () => {
        this.messages++;
        this.stream.read();
      },
      onClosed: (status) => this.closed.push(status),
    };
    const options = { handler, clock: this.clock, onEnd: () => undefined };
    this.stream = new RestStream(options, {
      nextDelayMs: () => 10_000,
      reader: { waitMs: () => 0, read: readResponse },
      post: ({ resourceNames }, _etag, callback) => {
        this.posts.push([...resourceNames]);
        const { status = 200, body } = answer(this.posts.length);
        this.clock.soon(() => callback(ok({ status, etag: undefined, body, digest: body })));
        return createHandle(() => undefined);
      },
      sanitize: (text) => text,
      ...server,
    });
    this.stream.read();
  }

  request(...resourceNames: string[]): void {
    const request = DiscoveryRequest.fromPartial({ typeUrl: LISTENER, resourceNames });
    this.stream.send(DiscoveryRequest.encode(request).finish());
    this.clock.flush();
  }
}

describe('polls of a server that answers at once', () => {
  it('are one in an interval, whatever changes', () => {
    const polls = new Polls((count) => ({ body: JSON.stringify({ version_info: `${count}` }) }));
    polls.request('a');
    polls.clock.advance(99_999);
    expect([polls.posts.length, polls.messages]).toEqual([10, 10]);
  });

  it('wait while responses take too much time, also those for new names', () => {
    let waitMs = 0;
    const polls = new Polls((count) => ({ body: JSON.stringify({ version_info: `${count}` }) }), {
      reader: { waitMs: () => waitMs, read: readResponse },
    });
    polls.request('a');
    waitMs = 3000;
    polls.request('a', 'b');
    polls.clock.advance(2999);
    expect(polls.posts).toEqual([['a']]);
    waitMs = 0;
    polls.clock.advance(1);
    expect(polls.posts).toEqual([['a'], ['a', 'b']]);
  });

  it.each([
    ['200', 200, '[', 'expected a value or "]"'],
    ['a redirection', 301, '', 'was answered with HTTP status 301'],
    ['a page of white space', 500, ' '.repeat(20_000_000), 'was answered with HTTP status 500'],
    ['compression', 200, gzipSync(Buffer.alloc(10_000_000)).toString(), 'not JSON'],
  ])('end the stream at one that answers with %s', (_, status, body, reason) => {
    const polls = new Polls(() => ({ status, body }));
    polls.request('a');
    expect(polls.closed.map(({ details }) => details)).toEqual([expect.stringContaining(reason)]);
    polls.clock.advance(60_000);
    expect(polls.posts).toHaveLength(1);
  });
});

it('reads responses for a quarter of all time, after 2 s at once', () => {
  const clock = new SlowClock();
  const reader = new ResponseReader(clock);
  const parse = jest.spyOn(JSON, 'parse').mockImplementation(() => {
    clock.spentMs += 100;
    return {};
  });
  const read = (count: number) => {
    for (let i = 0; i < count; i++) reader.read('{}');
  };
  read(13);
  expect(reader.waitMs()).toBe(0);
  read(20);
  expect(reader.waitMs()).toBeGreaterThan(500);
  clock.advance(reader.waitMs());
  expect(reader.waitMs()).toBe(0);
  parse.mockRestore();
});
