import type { Metadata } from '@grpc/grpc-js';
import { experimental, status, type StatusObject } from '@grpc/grpc-js';
import type { InterceptingListener } from '@grpc/grpc-js/build/src/call-interface';
import type { InternalChannel } from '@grpc/grpc-js/build/src/internal-channel';
import { ResolvingCall } from '@grpc/grpc-js/build/src/resolving-call';
import { CallFailedError, type CallFilter } from '../../src/http-filters/call-filter';
import type { PreparedFilter } from '../../src/http-filters/client-filter';
import { compileRoute } from '../../src/resolver/compiled-route';
import { XdsCall } from '../../src/resolver/xds-call';
import { createHandle } from '../../src/util/handle';
import { headersOf, instance, statusOf } from '../http-filters/calls';
import { clusterRefs, clustersOf, routingChannel } from '../support/routed-calls';
import { forwardTo, route, virtualHost } from '../support/xds-builders';

/** What the host makes of a call once its headers are through the filters. */
class Child {
  readonly events: string[] = [];
  private listener: InterceptingListener | undefined;

  start(headers: Metadata, listener: InterceptingListener): void {
    this.listener = listener;
    this.events.push(`start ${JSON.stringify(headers.toJSON())}`);
  }

  sendMessageWithContext(_context: object, message: Buffer): void {
    this.events.push(`message ${String(message)}`);
  }

  halfClose(): void {
    this.events.push('half-close');
  }

  startRead(): void {}

  cancelWithStatus(code: status): void {
    this.events.push(`cancel ${code}`);
  }

  getCallNumber(): number {
    return 1;
  }

  getDeadlineInfo(): string[] {
    return [];
  }

  /** The response of the server. */
  get server(): InterceptingListener {
    if (this.listener === undefined) throw new Error('The call was not started');
    return this.listener;
  }
}

/** A call that is routed to a cluster, with these filters. @param onReleased Called when it releases the cluster. */
function routedCall(
  filters: readonly PreparedFilter[],
  onReleased: () => void = () => {},
): XdsCall {
  const refs = clusterRefs(() => createHandle(onReleased));
  const ref = refs.acquire('echo');
  const compiled = compileRoute(route(forwardTo('echo')), {
    virtualHost: virtualHost([]),
    maxStreamDurationMs: undefined,
    defaultAuthority: 'svc',
    filters: [],
    refOf: () => ref,
  });
  const call = new XdsCall(routingChannel(), '/test.Echo/Say');
  call.routeTo(compiled, ref, { compute: () => 0n });
  ref.release();
  if (filters.length > 0) {
    const clusters = clustersOf(() => undefined);
    call.addFilters({ filters, method: '/test.Echo/Say', headers: headersOf(), clusters });
  }
  return call;
}

/** One call of the host library, over a connection that the test plays. */
class Scene {
  readonly child = new Child();
  readonly received: string[] = [];
  released = 0;
  private readonly call: ResolvingCall;

  constructor(filters: readonly PreparedFilter[], options: { deadline?: number } = {}) {
    const config = () => routedCall(filters, () => this.released++);
    const channel: Partial<InternalChannel> = {
      getConfig: () => ({ type: 'SUCCESS', config: config() }),
      // eslint-disable-next-line @typescript-eslint/no-explicit-any -- all that the call uses of it
      createRetryingCall: () => this.child as any,
    };
    this.call = new ResolvingCall(
      // eslint-disable-next-line @typescript-eslint/no-explicit-any -- all that the call uses of it
      channel as any,
      '/test.Echo/Say',
      { deadline: options.deadline ?? Infinity, flags: 0, host: 'echo', parentCall: null },
      new experimental.FilterStackFactory([]),
      1,
    );
  }

  start(headers = headersOf()): this {
    this.call.start(headers, {
      onReceiveMetadata: (metadata) =>
        this.received.push(`headers ${JSON.stringify(metadata.toJSON())}`),
      onReceiveMessage: (message: Buffer) => this.received.push(`message ${String(message)}`),
      onReceiveStatus: ({ code, details, metadata }: StatusObject) =>
        this.received.push(`status ${code} ${details} ${JSON.stringify(metadata.toJSON())}`),
    });
    return this;
  }

  send(text: string): this {
    this.call.sendMessageWithContext({}, Buffer.from(text));
    return this;
  }

  halfClose(): this {
    this.call.halfClose();
    return this;
  }

  cancel(): this {
    this.call.cancelWithStatus(status.CANCELLED, 'by the application');
    return this;
  }

  /** Runs everything that does not need the server. */
  async settle(): Promise<this> {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    return this;
  }
}

const scene = (...filters: readonly CallFilter[]) =>
  new Scene(filters.map((filter, i) => instance(`f${i + 1}`, filter)));

const refused = new CallFailedError({
  code: status.PERMISSION_DENIED,
  details: 'no',
  metadata: headersOf({ why: 'test' }),
});

/** A filter that counts its `onStatus` calls. */
function counting(filter: CallFilter = {}): { filter: CallFilter; statuses: number[] } {
  const statuses: number[] = [];
  return {
    statuses,
    filter: {
      ...filter,
      onStatus(final) {
        statuses.push(final.code);
        return filter.onStatus?.(final) ?? final;
      },
    },
  };
}

describe('a call with HTTP filters', () => {
  it('passes them to the server and back', async () => {
    const adding = (name: string): CallFilter => ({
      onRequestHeaders(headers) {
        headers.add('by', name);
        return headers;
      },
      onRequestMessage: (message) => Promise.resolve(Buffer.from(`${String(message)}${name}`)),
      onResponseHeaders(headers) {
        headers.add('by', name);
        return headers;
      },
      onResponseMessage: (message) => Promise.resolve(Buffer.from(`${String(message)}${name}`)),
      onStatus: (final) => ({ ...final, details: `${final.details}${name}` }),
    });
    const sut = scene(adding('a'), adding('b'));
    await sut
      .start(headersOf({ x: '1' }))
      .send('>')
      .halfClose()
      .settle();
    expect(sut.child.events).toEqual([
      'start {"x":["1"],"by":["a","b"]}',
      'message >ab',
      'half-close',
    ]);
    sut.child.server.onReceiveMetadata(headersOf({ y: '2' }));
    sut.child.server.onReceiveMessage(Promise.resolve(Buffer.from('<')));
    sut.child.server.onReceiveStatus(statusOf(status.OK, '='));
    await sut.settle();
    expect(sut.received).toEqual([
      'headers {"y":["2"],"by":["b","a"]}',
      'message <ba',
      'status 0 =ba {}',
    ]);
    expect(sut.released).toBe(1);
  });

  it('gets no promise it does not need', () => {
    const release = jest.fn();
    const filters = [instance('f1', { onResponseHeaders: (headers) => headers })];
    const filter = routedCall(filters, release);
    const headers = Promise.resolve(headersOf());
    const write = Promise.resolve({ message: Buffer.from(''), flags: 0 });
    const message = Promise.resolve(Buffer.from(''));
    expect(filter.sendMetadata(headers)).toBe(headers);
    expect(filter.sendMessage(write)).toBe(write);
    expect(filter.receiveMessage(message)).toBe(message);
    expect(release).not.toHaveBeenCalled();
  });

  it.each([
    ['there are none', []],
    ['none of them acts', [instance('f1', undefined)]],
  ])('pays for nothing but its release when %s', async (_case, filters) => {
    const sut = new Scene(filters);
    await sut.start().send('x').settle();
    sut.child.server.onReceiveMetadata(headersOf({ y: '2' }));
    sut.child.server.onReceiveStatus(statusOf(status.OK));
    await sut.settle();
    expect(sut.child.events).toEqual(['start {}', 'message x']);
    expect(sut.received).toEqual(['headers {"y":["2"]}', 'status 0  {}']);
    expect(sut.released).toBe(1);
  });

  it('keeps the flags of its messages', async () => {
    const call = routedCall([instance('f1', { onRequestMessage: (message) => message })]);
    const message = Buffer.from('x');
    const write = Promise.resolve({ message, flags: 2 });
    expect(await call.sendMessage(write)).toEqual({ message, flags: 2 });
  });
});

describe('a filter fails its call', () => {
  it.each<[string, CallFilter]>([
    ['at once', { onRequestHeaders: () => thrown() }],
    ['after a while', { onRequestHeaders: () => Promise.resolve().then(thrown) }],
  ])('before it is sent, %s', async (_case, failing) => {
    const last = counting();
    const sut = scene(failing, last.filter);
    await sut.start().send('x').settle();
    expect(sut.child.events).toEqual([]);
    expect(sut.received).toEqual(['status 7 no {"why":["test"]}']);
    expect(last.statuses).toEqual([status.PERMISSION_DENIED]);
    expect(sut.released).toBe(1);
  });

  const FAILED = 'status 7 no {"why":["test"]}';

  it.each<[string, CallFilter, (server: Scene['child']['server']) => void, string[]]>([
    ['with a request message', { onRequestMessage: () => thrown() }, () => {}, [FAILED]],
    [
      'with a response message',
      { onResponseMessage: () => Promise.reject(refused) },
      (server) => {
        server.onReceiveMessage(Promise.resolve(Buffer.from('secret')));
        server.onReceiveStatus(statusOf(status.OK));
      },
      [FAILED],
    ],
    [
      'with the response headers: nothing of the response gets through',
      { onResponseHeaders: () => thrown() },
      (server) => {
        server.onReceiveMetadata(headersOf({ secret: '1' }));
        server.onReceiveMessage(Promise.resolve(Buffer.from('secret')));
      },
      ['headers {}', FAILED],
    ],
  ])('%s', async (_case, failing, answer, received) => {
    const last = counting(failing);
    const sut = scene(last.filter);
    await sut.start().send('x').settle();
    answer(sut.child.server);
    await sut.settle();
    expect(sut.child.events.at(-1)).toBe('cancel 7');
    expect(sut.received).toEqual(received);
    expect(last.statuses).toEqual([status.PERMISSION_DENIED]);
    expect(sut.released).toBe(1);
  });

  it.each<[string, ReturnType<typeof instance>, string]>([
    [
      'when it is made',
      instance('f1', () => {
        throw new Error('oops');
      }),
      'status 13 HTTP filter "f1": oops {}',
    ],
    [
      'as if the server had sent trailers and nothing else',
      instance('f1', {
        onRequestHeaders() {
          throw new CallFailedError({ code: status.OK, details: 'fine' });
        },
      }),
      'status 0 fine {}',
    ],
  ])('%s', async (_case, failing, received) => {
    const sut = new Scene([failing]);
    await sut.start().send('x').settle();
    expect(sut.child.events).toEqual([]);
    expect(sut.received).toEqual([received]);
    expect(sut.released).toBe(1);
  });

  it('with its status', async () => {
    const sut = scene({
      onStatus() {
        throw new Error('oops');
      },
    });
    await sut.start().settle();
    sut.child.server.onReceiveStatus(statusOf(status.OK));
    await sut.settle();
    expect(sut.received).toEqual(['status 13 HTTP filter "f1", onStatus: oops {}']);
    expect(sut.released).toBe(1);
  });
});

describe('a call that ends while a filter delays it', () => {
  /** A filter that continues or fails the call on demand. */
  function holding() {
    const settle = { goOn: () => {}, fail: () => {} };
    const last = counting({
      onRequestHeaders: (headers) =>
        new Promise((resolve, reject) => {
          settle.goOn = () => resolve(headers);
          settle.fail = () => reject(refused);
        }),
    });
    return { ...last, settle };
  }

  it.each(['goOn', 'fail'] as const)(
    'by being cancelled is never sent, whatever the filter does then (%s)',
    async (then) => {
      const { filter, statuses, settle } = holding();
      const behind = counting({
        onRequestHeaders() {
          throw new Error('must not be called');
        },
      });
      const sut = scene(filter, behind.filter);
      await sut.start().send('x').halfClose().settle();
      await sut.cancel().settle();
      expect(sut.received).toEqual(['status 1 by the application {}']);
      expect([statuses, behind.statuses]).toEqual([[1], [1]]);
      expect(sut.released).toBe(1);
      settle[then]();
      await sut.settle();
      expect(sut.child.events).toEqual([]);
      expect(sut.received).toHaveLength(1);
      expect([statuses, behind.statuses, sut.released]).toEqual([[1], [1], 1]);
    },
  );

  it('by its deadline is never sent', async () => {
    const { filter, statuses, settle } = holding();
    const sut = new Scene([instance('f1', filter)], { deadline: Date.now() + 5 });
    sut.start();
    await new Promise((resolve) => setTimeout(resolve, 20));
    settle.goOn();
    await sut.settle();
    expect(sut.child.events).toEqual([]);
    expect(sut.received).toHaveLength(1);
    expect(sut.received[0]).toContain('waiting for metadata filters');
    expect(statuses).toEqual([status.DEADLINE_EXCEEDED]);
    expect(sut.released).toBe(1);
  });
});

describe('a call that is cancelled before the host has sent it', () => {
  it('is not sent if a filter sees its headers', async () => {
    const { filter, statuses } = counting({ onRequestHeaders: (headers) => headers });
    const sut = scene(filter);
    await sut.start().send('x').cancel().settle();
    expect(sut.child.events).toEqual([]);
    expect([statuses, sut.released]).toEqual([[1], 1]);
  });

  it('is ended again with its first message if none does', async () => {
    const { filter, statuses } = counting({
      onRequestMessage() {
        throw new Error('must not be called');
      },
    });
    const sut = scene(filter);
    await sut.start().send('x').cancel().settle();
    // The host starts the call after its end.
    expect(sut.child.events).toEqual(['start {}', 'cancel 1']);
    expect(sut.received).toEqual(['status 1 by the application {}']);
    expect([statuses, sut.released]).toEqual([[1], 1]);
  });
});

function thrown(): never {
  throw refused;
}
