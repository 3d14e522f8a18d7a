import { PassThrough } from 'node:stream';
import { ServerStream } from '../../src/control-plane/server-stream';
import { ok } from '../../src/util/result';
import { FakeClock } from '../support/fake-clock';

/** The call of a client whose requests have all arrived. */
class Call extends PassThrough {
  readonly onRead: (() => void)[] = [];

  constructor(requests: readonly string[]) {
    super({ objectMode: true });
    for (const request of requests) super.write(ok(request));
  }

  override write(_message: string, onRead?: unknown): boolean {
    if (typeof onRead === 'function') this.onRead.push(() => void onRead());
    return true;
  }

  getPeer(): string {
    return 'peer';
  }
}

describe('a stream whose client has sent many requests', () => {
  let clock: FakeClock;
  let received: string[];

  beforeEach(() => {
    clock = new FakeClock();
    received = [];
  });

  /** @param respond Whether each request is answered. */
  const open = (call: Call, respond: boolean): ServerStream<string, string> => {
    const listener = {
      onRequest: (request: string) => {
        received.push(request);
        if (respond) stream.write(`answer of ${request}`);
      },
      onUnblocked: () => undefined,
      onClosed: () => undefined,
    };
    const stream = new ServerStream<string, string>(call, listener, clock);
    return stream;
  };
  /** Ends a turn of the event loop. */
  const turn = async () => {
    clock.advance(1);
    await new Promise(setImmediate);
  };

  it('reads one of them in a turn of the event loop', async () => {
    open(new Call(['1', '2', '3']), false);
    await new Promise(setImmediate);
    expect(received).toEqual(['1']);
    await turn();
    expect(received).toEqual(['1', '2']);
    await turn();
    expect(received).toEqual(['1', '2', '3']);
  });

  it('reads none while the client does not read', async () => {
    const call = new Call(['1', '2']);
    open(call, true);
    for (let i = 0; i < 3; i++) await turn();
    expect(received).toEqual(['1']);
    for (const onRead of call.onRead) onRead();
    await turn();
    expect(received).toEqual(['1', '2']);
  });

  it('reads none after its end', async () => {
    const stream = open(new Call(['1', '2']), false);
    await new Promise(setImmediate);
    stream.end();
    await turn();
    expect(received).toEqual(['1']);
  });
});
