import type { Metadata } from '../../src/grpc-js';
import { Status } from '../../src/grpc-js';
import { CallFailedError, type CallFilter } from '../../src/http-filters/call-filter';
import { CallFilterChain } from '../../src/http-filters/call-filter-chain';
import { callWith, failureOf, headersOf, instance, statusOf } from './calls';

const chainOf = (...filters: readonly (CallFilter | undefined)[]) =>
  new CallFilterChain(
    filters.map((filter, i) => instance(`f${i + 1}`, filter)),
    callWith(),
  );

/** Appends its name to each value, optionally after a wait. */
function tracing(name: string, log: string[], waits = false): CallFilter {
  const note = <T>(what: string, value: T): T => {
    log.push(`${name} ${what}`);
    return value;
  };
  const later = <T>(value: T): T | Promise<T> => (waits ? Promise.resolve(value) : value);
  const append = (message: Buffer) => Buffer.from(`${message.toString()}${name}`);
  const mark = (headers: Metadata) => {
    headers.add('seen-by', name);
    return headers;
  };
  return {
    onRequestHeaders: (headers) => note('request headers', later(mark(headers))),
    onRequestMessage: (message) => note('request message', later(append(message))),
    onResponseHeaders: (headers) => note('response headers', mark(headers)),
    onResponseMessage: (message) => note('response message', later(append(message))),
    onStatus: (status) => note('status', { ...status, details: `${status.details}${name}` }),
  };
}

describe('the filters of a call', () => {
  it.each([false, true])(
    'see requests in order and responses in reverse (waiting: %s)',
    async (waits) => {
      const log: string[] = [];
      const chain = chainOf(
        tracing('a', log, waits),
        undefined,
        tracing('b', log, waits),
        {},
        tracing('c', log),
      );
      expect((await chain.onRequestHeaders(headersOf())).get('seen-by')).toEqual(['a', 'b', 'c']);
      expect(String(await chain.onRequestMessage(Buffer.from('>')))).toBe('>abc');
      expect(chain.onResponseHeaders(headersOf()).get('seen-by')).toEqual(['c', 'b', 'a']);
      expect(String(await chain.onResponseMessage(Buffer.from('<')))).toBe('<cba');
      expect(chain.onStatus(statusOf(Status.OK, '='))).toMatchObject({ code: 0, details: '=cba' });
      expect(log.map((line) => line.slice(0, 1)).join('')).toBe('abcabccbacbacba');
    },
  );

  it('pass values synchronously if none of them waits', () => {
    const chain = chainOf(tracing('a', []), tracing('b', []));
    const headers = headersOf();
    expect(chain.onRequestHeaders(headers)).toBe(headers);
    expect(Buffer.isBuffer(chain.onRequestMessage(Buffer.from('')))).toBe(true);
    expect(Buffer.isBuffer(chain.onResponseMessage(Buffer.from('')))).toBe(true);
  });

  it('receive the method, headers and cluster of the call', () => {
    const calls: unknown[] = [];
    const call = callWith();
    new CallFilterChain([instance('f1', (given) => (calls.push(given), undefined))], call);
    expect(calls[0]).toBe(call);
  });

  it('show which methods act', () => {
    expect(chainOf().isIdle).toBe(true);
    expect(chainOf(undefined).isIdle).toBe(true);
    const chain = chainOf({ onResponseHeaders: (headers) => headers }, {});
    expect(chain.isIdle).toBe(false);
    expect(
      (['onRequestHeaders', 'onRequestMessage', 'onResponseHeaders', 'onStatus'] as const).map(
        (method) => chain.acts(method),
      ),
    ).toEqual([false, false, true, false]);
  });
});

/** Returns a filter that throws a `CallFailedError` of another copy of the package. */
function failingInOtherCopy(failure: unknown): CallFilter {
  const brand = { [Symbol.for('grpc-xds.call-failed')]: { version: '9', path: '/other' } };
  return {
    onRequestHeaders: () => Promise.reject(Object.assign(new Error('no'), brand, { failure })),
  };
}

describe('a filter that fails its call', () => {
  const trailers = headersOf({ why: 'test' });
  const refused = new CallFailedError({ code: 7, details: 'no', metadata: trailers });

  it.each<[string, CallFilter, string]>([
    ['with a status', { onRequestHeaders: () => Promise.reject(refused) }, '7: no'],
    [
      'with a status at once',
      {
        onRequestHeaders() {
          throw refused;
        },
      },
      '7: no',
    ],
    [
      'with a status of another copy of the package',
      failingInOtherCopy({ code: 7, details: 'no' }),
      '7: no',
    ],
    [
      'with a status of another copy whose metadata are of another grpc-js',
      failingInOtherCopy({ code: 7, details: 'no', metadata: {} }),
      '13: HTTP filter "f1", onRequestHeaders: the metadata of its CallFailedError are no Metadata',
    ],
    [
      'with an error of another copy that has no status',
      failingInOtherCopy(null),
      '13: HTTP filter "f1", onRequestHeaders: no',
    ],
    [
      'by mistake',
      {
        onRequestHeaders() {
          throw new Error('oops');
        },
      },
      '13: HTTP filter "f1", onRequestHeaders: oops',
    ],
    [
      'by mistake, later',
      { onRequestHeaders: () => Promise.reject(new Error('oops')) },
      '13: HTTP filter "f1", onRequestHeaders: oops',
    ],
    [
      'with something that is no error',
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- plain JavaScript may
      { onRequestHeaders: () => Promise.reject('oops') },
      '13: HTTP filter "f1", onRequestHeaders: oops',
    ],
    [
      'with a status that does not exist',
      {
        onRequestHeaders() {
          throw new CallFailedError({ code: 17, details: 'no' });
        },
      },
      '13: HTTP filter "f1", onRequestHeaders: grpc-xds: code of new CallFailedError() must be a status code from 0 to 16, not 17',
    ],
  ])(
    '%s: nobody sees the call any more, and everybody its end',
    async (_case, failing, failure) => {
      const log: string[] = [];
      const chain = chainOf(failing, tracing('b', log));
      expect(await failureOf(() => chain.onRequestHeaders(headersOf()))).toBe(failure);
      expect(await failureOf(() => chain.onRequestMessage(Buffer.from('')))).toBe(failure);
      expect(await failureOf(() => chain.onResponseHeaders(headersOf()))).toBe(failure);
      expect(await failureOf(() => chain.onResponseMessage(Buffer.from('')))).toBe(failure);
      expect(log).toEqual([]);
      const status = chain.onStatus(statusOf(Status.INTERNAL, 'as the host has it'));
      expect(`${status.code}: ${status.details}`).toBe(failure);
      expect(log).toEqual(['b status']);
    },
  );

  it('fails it with the trailers of the failure', async () => {
    const chain = chainOf({ onRequestMessage: () => Promise.reject(refused) });
    await failureOf(() => chain.onRequestMessage(Buffer.from('')));
    // The host drops trailers when it cancels a call.
    expect(chain.onStatus(statusOf(7, 'no')).metadata).toBe(trailers);
  });

  it('passes the failure to the filters before it, and the status of the server to those after it', async () => {
    const seen: string[] = [];
    const watching = (name: string): CallFilter => ({
      onStatus(status) {
        seen.push(`${name} ${status.code}`);
        return status;
      },
    });
    const failing: CallFilter = {
      onResponseHeaders() {
        throw refused;
      },
      ...watching('b'),
    };
    const chain = chainOf(watching('a'), failing, watching('c'));
    expect(await failureOf(() => chain.onResponseHeaders(headersOf()))).toBe('7: no');
    expect(chain.onStatus(statusOf(Status.OK)).code).toBe(7);
    expect(seen).toEqual(['c 0', 'b 7', 'a 7']);
  });

  it('at its creation fails it too, and those after it are not created', async () => {
    const log: string[] = [];
    const chain = new CallFilterChain(
      [
        instance('f1', tracing('a', log)),
        instance('f2', () => {
          throw new Error('oops');
        }),
        instance('f3', () => {
          throw new Error('must not be made');
        }),
      ],
      callWith(),
    );
    expect(chain.isIdle).toBe(false);
    expect(chain.acts('onRequestHeaders')).toBe(true);
    expect(await failureOf(() => chain.onRequestHeaders(headersOf()))).toBe(
      '13: HTTP filter "f2": oops',
    );
    expect(chain.onStatus(statusOf(Status.INTERNAL, 'host'))).toMatchObject({
      code: 13,
      details: 'HTTP filter "f2": oopsa',
    });
    expect(log).toEqual(['a status']);
  });

  it('keeps the first failure', async () => {
    const chain = chainOf(
      { onRequestMessage: () => Promise.reject(refused) },
      { onResponseMessage: () => Promise.reject(new Error('second')) },
    );
    const second = failureOf(() => chain.onResponseMessage(Buffer.from('')));
    await failureOf(() => chain.onRequestMessage(Buffer.from('')));
    expect(await second).toBe('13: HTTP filter "f2", onResponseMessage: second');
    expect(chain.onStatus(statusOf(Status.OK)).code).toBe(13);
  });
});

describe('a filter in plain JavaScript with an invalid result', () => {
  /** A filter as the compiler would not have it. */
  const careless = (method: keyof CallFilter, returned: unknown): CallFilter => ({
    [method]: () => returned,
  });

  it.each<[Exclude<keyof CallFilter, 'onStatus'>, unknown, string]>([
    ['onRequestHeaders', undefined, 'must return Metadata'],
    ['onRequestHeaders', Promise.resolve({}), 'must return Metadata'],
    ['onRequestMessage', 'text', 'must return a Buffer'],
    ['onResponseMessage', Promise.resolve(null), 'must return a Buffer'],
    ['onResponseHeaders', {}, 'must return Metadata'],
    ['onResponseHeaders', Promise.resolve(), 'must return Metadata, not a promise'],
  ])('%s: %j fails the call', async (method, returned, reason) => {
    const chain = chainOf(careless(method, returned));
    const run = () =>
      method.endsWith('Headers')
        ? chain[method === 'onRequestHeaders' ? method : 'onResponseHeaders'](headersOf())
        : chain[method === 'onRequestMessage' ? method : 'onResponseMessage'](Buffer.from(''));
    expect(await failureOf(run)).toBe(`13: HTTP filter "f1", ${method}: ${reason}`);
  });

  it.each<[unknown, string]>([
    [undefined, 'must return a status'],
    [{ code: 0 }, 'must return a status'],
    [{ code: 0, details: '' }, 'must return a status'],
    [Promise.resolve(), 'must return a status, not a promise'],
  ])('onStatus: %j fails the call', (returned, reason) => {
    const chain = chainOf(careless('onStatus', returned));
    expect(chain.onStatus(statusOf(Status.OK))).toMatchObject({
      code: 13,
      details: `HTTP filter "f1", onStatus: ${reason}`,
    });
  });

  it('does not end the process with an unhandled rejection', async () => {
    const unhandled = jest.fn();
    process.once('unhandledRejection', unhandled);
    const rejected = () => Promise.reject(new Error('unheard'));
    const chain = chainOf({
      ...careless('onResponseHeaders', rejected()),
      ...careless('onStatus', rejected()),
    });
    await failureOf(() => chain.onResponseHeaders(headersOf()));
    chain.onStatus(statusOf(Status.OK));
    await new Promise((resolve) => setImmediate(resolve));
    process.removeListener('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('a call that has ended', () => {
  it('is passed to no filter, also after a pending one settles', async () => {
    const log: string[] = [];
    let goOn = () => {};
    const waiting: CallFilter = {
      onRequestHeaders: (headers) => new Promise((resolve) => (goOn = () => resolve(headers))),
    };
    const chain = chainOf(waiting, tracing('b', log));
    const pending = failureOf(() => chain.onRequestHeaders(headersOf()));
    expect(chain.onStatus(statusOf(Status.CANCELLED)).code).toBe(1);
    goOn();
    expect(await pending).toBe('1: The call has ended');
    expect(await failureOf(() => chain.onRequestMessage(Buffer.from('')))).toBe(
      '1: The call has ended',
    );
    expect(chain.acts('onRequestMessage')).toBe(true);
    expect(log).toEqual(['b status']);
  });

  it('ends once', () => {
    const log: string[] = [];
    const chain = chainOf(tracing('a', log));
    chain.onStatus(statusOf(Status.OK));
    expect(chain.onStatus(statusOf(Status.OK, 'again')).details).toBe('again');
    expect(log).toEqual(['a status']);
  });

  it('calls onStatus of every filter, even if one of them throws', () => {
    const log: string[] = [];
    const throwing: CallFilter = {
      onStatus() {
        throw new CallFailedError({ code: 9, details: 'changed' });
      },
    };
    const chain = chainOf(tracing('a', log), throwing, tracing('c', log));
    expect(chain.onStatus(statusOf(Status.OK))).toMatchObject({ code: 9, details: 'changeda' });
    expect(log).toEqual(['c status', 'a status']);
  });
});
