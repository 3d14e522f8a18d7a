import { Metadata, status } from '@grpc/grpc-js';
import { EventEmitter } from 'node:events';
import { completeStatus, type CallStatus } from '../../src/grpc-js/handed-over';
import {
  ContainedFilter,
  ContainedPicker,
  containedSelector,
  HostCall,
  TracedListener,
} from '../../src/grpc-js/host-call';
import {
  containedBalancer,
  containedCallback,
  containedListener,
  containedResolver,
  logExceptionsBy,
} from '../../src/grpc-js/host-callbacks';
import {
  containedHandler,
  containedInterceptor,
  containedUnaryHandler,
  interceptCall,
  onCallEvent,
} from '../../src/grpc-js/server-callbacks';
import { PickResultType } from '../../src/grpc-js';
import { createFailurePicker } from '../../src/lb/connectivity';

// Every function of this package that grpc-js calls, with everything that grpc-js may hand over: each member missing, of a wrong type,
// or with a getter that throws.

const throwing = () => {
  throw new Error('a getter');
};

/** Of every type, and no member of what is handed over. */
const WRONG: readonly unknown[] = [
  undefined,
  null,
  0,
  -1,
  1.5,
  NaN,
  Infinity,
  '',
  'text',
  true,
  7n,
  Symbol('s'),
  [],
  {},
  () => undefined,
  new Error('an error'),
  Buffer.from('x'),
  new Date(NaN),
  new Proxy({}, { get: throwing, has: throwing, getPrototypeOf: throwing, ownKeys: throwing }),
  Object.create(null),
];

/** Returns the object with each member missing, wrong, and with a getter that throws. */
function variants(whole: Readonly<Record<string, unknown>>): readonly unknown[] {
  return Object.keys(whole).flatMap((name) => {
    const without = Object.fromEntries(Object.entries(whole).filter(([key]) => key !== name));
    const thrower = Object.defineProperty({ ...without }, name, { get: throwing });
    return [without, thrower, ...WRONG.map((value) => ({ ...without, [name]: value }))];
  });
}

const STATUSES: readonly unknown[] = [
  ...WRONG,
  ...variants({ code: status.UNAVAILABLE, details: 'gone', metadata: new Metadata(), rstCode: 7 }),
  Object.freeze({}),
];
const HEADERS: readonly unknown[] = [...WRONG, new Metadata()];

/** Calls a function with arguments that its type does not allow, as grpc-js may. */
function callWith(call: unknown, ...args: readonly unknown[]): unknown {
  return typeof call === 'function' ? Reflect.apply(call, undefined, args) : undefined;
}

const isComplete = ({ code, details, metadata }: CallStatus): boolean =>
  Number.isInteger(code) && typeof details === 'string' && metadata instanceof Metadata;

let logged: string[];
beforeEach(() => {
  logged = [];
  logExceptionsBy({ error: (text) => logged.push(text()) });
});

describe('completeStatus', () => {
  it('completes whatever is handed over', () => {
    for (const given of STATUSES) {
      expect(isComplete(callWith(completeStatus, given) as CallStatus)).toBe(true);
    }
  });

  it('returns a complete status as it is', () => {
    const whole = { code: status.OK, details: '', metadata: new Metadata() };
    expect(completeStatus(whole)).toBe(whole);
  });

  it.each([
    [{ code: undefined, details: undefined, metadata: new Metadata() }, status.INTERNAL],
    [new Error('a bug'), status.INTERNAL],
    [{ code: NaN, details: 'a', metadata: new Metadata() }, status.UNKNOWN],
    [{ code: 'ECONNRESET', details: 'a', metadata: new Metadata() }, status.UNKNOWN],
    [{ code: 99, details: 'a', metadata: new Metadata() }, 99],
    [{ code: status.NOT_FOUND, details: 'a' }, status.NOT_FOUND],
  ])('%j has the code %i', (given, code) => {
    expect(callWith(completeStatus, given)).toMatchObject({ code });
  });

  it('names the usual cause of a call without a status, and keeps the text of an error', () => {
    const details = (given: unknown) => (callWith(completeStatus, given) as CallStatus).details;
    expect(details({})).toMatch(/without a status.*compressed message.*check/);
    expect(details(new Error('a bug'))).toBe('a bug');
  });
});

class Tracer {
  thrown: Error | undefined;
  readonly seen: CallStatus[] = [];
  onMessageReceived(): void {
    if (this.thrown !== undefined) throw this.thrown;
  }
  onEnded(given: CallStatus): void {
    this.seen.push(given);
    if (this.thrown !== undefined) throw this.thrown;
  }
}

function nextListener() {
  const statuses: CallStatus[] = [];
  const next = {
    onReceiveMetadata: (headers: Metadata) => expect(headers).toBeInstanceOf(Metadata),
    onReceiveMessage: () => {},
    onReceiveStatus: (given: CallStatus) => void statuses.push(given),
  };
  return { next, statuses };
}

describe('a listener of a call on a connection', () => {
  it('sees and passes on complete statuses only', () => {
    for (const given of STATUSES) {
      const { next, statuses } = nextListener();
      const tracer = new Tracer();
      const watching = new TracedListener(next, tracer, 'a test');
      callWith(watching.onReceiveStatus.bind(watching), given);
      expect([...tracer.seen, ...statuses].map(isComplete)).toEqual([true, true]);
    }
    expect(logged).toEqual([]);
  });

  it('passes on headers and messages of any kind', () => {
    const watching = new TracedListener(nextListener().next, new Tracer(), 'a test');
    for (const given of HEADERS) callWith(watching.onReceiveMetadata.bind(watching), given);
    for (const given of WRONG) watching.onReceiveMessage(given);
    expect(logged).toEqual([]);
  });

  it('ends the call with INTERNAL, and logs once, if it throws', () => {
    const { next, statuses } = nextListener();
    const tracer = new Tracer();
    const watching = new TracedListener(next, tracer, 'a test');
    tracer.thrown = new Error('a bug');
    watching.onReceiveMessage(Buffer.from(''));
    watching.onReceiveStatus({ code: status.OK, details: '', metadata: new Metadata() });
    expect(statuses).toMatchObject([
      { code: status.INTERNAL, details: 'unexpected error in a test: a bug' },
    ]);
    expect(logged).toEqual([expect.stringContaining('unexpected error in a test: Error: a bug')]);
  });
});

describe('the listener of a call of this package', () => {
  it('receives complete statuses, and cancels the call for what is no message', () => {
    for (const given of STATUSES) {
      const seen: CallStatus[] = [];
      const cancelled: CallStatus[] = [];
      const own = {
        onMetadata: () => {},
        onMessage: () => {},
        onStatus: (s: CallStatus) => seen.push(s),
      };
      const listener = containedListener('a test', own, (s) => cancelled.push(s));
      callWith(listener.onReceiveMetadata, given);
      listener.onReceiveMessage(given);
      callWith(listener.onReceiveStatus, given);
      expect(seen.map(isComplete)).toEqual([true]);
      expect(cancelled.every(isComplete)).toBe(true);
      expect(cancelled).toHaveLength(ArrayBuffer.isView(given) ? 0 : 1);
    }
  });

  it('cancels the call if it throws, and receives INTERNAL in place of a status', () => {
    const codes: number[] = [];
    const cancel = jest.fn(throwing);
    const own = {
      onMetadata: throwing,
      onMessage: throwing,
      onStatus: ({ code }: CallStatus) => {
        codes.push(code);
        throw new Error('again');
      },
    };
    const listener = containedListener('a test', own, cancel);
    listener.onReceiveMetadata(new Metadata());
    listener.onReceiveMessage(Buffer.from(''));
    listener.onReceiveStatus({ code: status.OK, details: '', metadata: new Metadata() });
    expect(cancel).toHaveBeenCalledTimes(2);
    expect(codes).toEqual([status.OK, status.INTERNAL]);
  });
});

class TestFilter extends ContainedFilter {
  throws: readonly string[] = [];
  last: CallStatus | undefined;
  private run<T>(name: string, value: T): T {
    if (this.throws.includes(name)) throw new Error(name);
    return value;
  }
  protected override filterRequestHeaders = (headers: Promise<Metadata>) =>
    this.run('request headers', headers);
  protected override filterResponseHeaders = (headers: Metadata) =>
    this.run('response headers', headers);
  protected override filterRequestMessage = (message: ReturnType<ContainedFilter['sendMessage']>) =>
    this.run('request message', message);
  protected override filterResponseMessage = (message: Promise<Buffer>) =>
    this.run('response message', message);
  protected override filterStatus = (given: CallStatus) => {
    this.last = given;
    return this.run('status', given);
  };
}

describe('the filter of a call', () => {
  const message = Buffer.from('');
  const run = async (filter: TestFilter) => {
    const settled = await Promise.allSettled([
      filter.sendMetadata(Promise.resolve(new Metadata())),
      Promise.resolve(filter.receiveMetadata(new Metadata())),
      filter.sendMessage(Promise.resolve({ message })),
      filter.receiveMessage(Promise.resolve(message)),
    ]);
    const end = filter.receiveTrailers({ code: status.OK, details: '', metadata: new Metadata() });
    return { settled, end };
  };

  it('gets complete statuses and headers only', () => {
    for (const given of [...STATUSES, ...HEADERS]) {
      const filter = new TestFilter();
      const end = callWith(filter.receiveTrailers.bind(filter), given) as CallStatus;
      expect([filter.last, end].map((each) => each && isComplete(each))).toEqual([true, true]);
      expect(callWith(filter.receiveMetadata.bind(filter), given)).toBeInstanceOf(Metadata);
    }
  });

  it.each(['request headers', 'response headers', 'request message', 'response message', 'status'])(
    'ends its call with INTERNAL, and logs once, if it throws on the %s',
    async (name) => {
      const filter = new TestFilter();
      filter.throws = [name];
      const { settled, end } = await run(filter);
      expect(end).toMatchObject({
        code: status.INTERNAL,
        details: `unexpected error in the filters of a call: ${name}`,
      });
      for (const each of settled) {
        if (each.status === 'rejected') expect(isComplete(each.reason)).toBe(true);
      }
      expect(logged).toHaveLength(1);
    },
  );
});

class TestCall extends HostCall {
  last: CallStatus | undefined;
  thrown: Error | undefined;
  override commit = () => {
    if (this.thrown !== undefined) throw this.thrown;
  };
  override end = (given: CallStatus) => {
    this.last = given;
    this.commit();
    return given;
  };
}

describe('a call that is its own filter', () => {
  it('gets complete statuses and headers only', () => {
    for (const given of [...STATUSES, ...HEADERS]) {
      const call = new TestCall();
      const end = callWith(call.receiveTrailers.bind(call), given) as CallStatus;
      expect([call.last, end].map((each) => each && isComplete(each))).toEqual([true, true]);
      expect(callWith(call.receiveMetadata.bind(call), given)).toBeInstanceOf(Metadata);
    }
  });

  it('ends with INTERNAL if it throws on the status, and is committed nevertheless if it throws then', () => {
    const call = new TestCall();
    call.thrown = new Error('a bug');
    call.onCommitted();
    expect(logged).toHaveLength(1);
    const end = call.receiveTrailers({ code: status.OK, details: '', metadata: new Metadata() });
    expect(end).toMatchObject({
      code: status.INTERNAL,
      details: 'unexpected error in the filters of a call: a bug',
    });
  });
});

describe('what a channel calls', () => {
  it('a selector that throws fails the call with INTERNAL', () => {
    const selector = containedSelector({ invoke: throwing, unref: throwing });
    for (const headers of HEADERS) {
      expect(callWith(selector.invoke, '/a/b', headers, 1)).toMatchObject({
        status: status.INTERNAL,
      });
    }
    selector.unref();
  });

  it('a resolver that throws reports that the target cannot be resolved', () => {
    const fail = jest.fn(throwing);
    const resolver = containedResolver({ updateResolution: throwing, destroy: throwing }, fail);
    resolver.updateResolution();
    resolver.destroy();
    expect(fail).toHaveBeenCalledWith(expect.objectContaining({ code: status.UNAVAILABLE }));
  });

  it('a policy that throws has not accepted the update', () => {
    const methods = { exitIdle: throwing, resetBackoff: throwing, destroy: throwing };
    const policy = containedBalancer({
      ...methods,
      updateAddressList: throwing,
      getTypeName: () => 'test',
    });
    for (const given of WRONG) {
      expect(callWith(policy.updateAddressList, given, given, given, given)).toBe(false);
    }
    policy.exitIdle();
    policy.resetBackoff();
    policy.destroy();
    expect(logged.length).toBe(WRONG.length + 3);
  });

  it('a picker that throws, or returns what is no result, fails the call', () => {
    const args = { metadata: new Metadata(), extraPickInfo: {} };
    const whole = {
      pickResultType: PickResultType.COMPLETE,
      subchannel: {},
      status: null,
      onCallStarted: null,
      onCallEnded: null,
    };
    const failed = { ...whole, pickResultType: PickResultType.DROP, subchannel: null, status: {} };
    const results = [...WRONG, ...variants(whole), ...variants(failed)];
    for (const pick of [throwing, ...results.map((result) => () => result as never)]) {
      const picked = new ContainedPicker({ pick }, () => createFailurePicker('a bug')).pick(args);
      const { COMPLETE, QUEUE } = PickResultType;
      if (picked.pickResultType === COMPLETE) expect(typeof picked.subchannel).toBe('object');
      else if (picked.pickResultType !== QUEUE) {
        expect(picked.status && isComplete(picked.status)).toBe(true);
      }
      for (const callback of [picked.onCallStarted, picked.onCallEnded]) callWith(callback);
    }
  });

  it('callbacks of a pick get complete statuses, and what they throw is logged', () => {
    const seen: unknown[][] = [];
    const result = {
      pickResultType: PickResultType.COMPLETE,
      subchannel: {},
      status: null,
      onCallStarted: throwing,
      onCallEnded: (...end: unknown[]) => {
        seen.push(end);
        throw new Error('a bug');
      },
    };
    const picker = new ContainedPicker({ pick: () => result as never }, () =>
      createFailurePicker(''),
    );
    const { onCallStarted, onCallEnded } = picker.pick({
      metadata: new Metadata(),
      extraPickInfo: {},
    });
    onCallStarted?.();
    for (const given of WRONG) callWith(onCallEnded, given, given, given);
    for (const [code, details, metadata] of seen) {
      expect(isComplete({ code, details, metadata } as CallStatus)).toBe(true);
    }
    expect(logged).toHaveLength(WRONG.length + 1);
  });

  it('a callback that throws is logged', () => {
    const callback: (given: unknown) => void = containedCallback('a test', throwing);
    for (const given of WRONG) callback(given);
    expect(logged).toHaveLength(WRONG.length);
  });
});

/** A call of a server, of grpc-js. */
function serverCall() {
  const sent: CallStatus[] = [];
  const listeners: object[] = [];
  const call = {
    start: (listener: object) => void listeners.push(listener),
    sendStatus: (each: CallStatus) => void sent.push(each),
    startRead: () => {},
  };
  return { call: call as never, sent, listeners };
}

describe('what a server calls', () => {
  const listener = {
    onReceiveMetadata: jest.fn(),
    onReceiveMessage: () => {},
    onReceiveHalfClose: () => {},
    onCancel: () => {},
  };
  const next = () => listener as never;
  beforeEach(() => listener.onReceiveMetadata.mockClear());

  it('an interceptor gets headers only, and a call whose interceptor throws is not passed on', () => {
    for (const given of HEADERS) {
      for (const fails of [false, true]) {
        const { call, sent, listeners } = serverCall();
        const onMetadata = (headers: Metadata) => {
          expect(headers).toBeInstanceOf(Metadata);
          return fails ? throwing() : true;
        };
        interceptCall('a test', call, { onMetadata }).start(next());
        callWith(Reflect.get(listeners[0] ?? {}, 'onReceiveMetadata').bind(listeners[0]), given);
        expect(sent).toMatchObject(fails ? [{ code: status.INTERNAL }] : []);
        expect(listener.onReceiveMetadata).toHaveBeenCalledTimes(fails ? 0 : 1);
        listener.onReceiveMetadata.mockClear();
      }
    }
  });

  it('an interceptor that throws on a status sends INTERNAL', () => {
    const { call, sent } = serverCall();
    const intercepted = interceptCall('a test', call, {
      onMetadata: () => true,
      onStatus: throwing,
    });
    for (const given of STATUSES) callWith(intercepted.sendStatus.bind(intercepted), given);
    expect(sent.map(({ code }) => code)).toEqual(STATUSES.map(() => status.INTERNAL));
  });

  it('an interceptor that throws at once ends the call before it is read', () => {
    const { call, sent, listeners } = serverCall();
    const interceptor = containedInterceptor('a test', throwing);
    for (const method of WRONG) {
      const created = callWith(interceptor, method, call);
      callWith(Reflect.get(created as object, 'start').bind(created), next());
    }
    expect(listeners).toEqual([]);
    expect(sent.map(({ code }) => code)).toEqual(WRONG.map(() => status.INTERNAL));
  });

  it('a handler that throws ends its call with INTERNAL', () => {
    const emit = jest.fn();
    const answer = jest.fn();
    containedHandler('a test', throwing)({ emit });
    containedUnaryHandler('a test', throwing)({}, answer);
    const internal = expect.objectContaining({ code: status.INTERNAL });
    expect(emit).toHaveBeenCalledWith('error', internal);
    expect(answer).toHaveBeenCalledWith(internal);
  });

  it('a listener of an event that throws ends the call with INTERNAL', () => {
    const call = new EventEmitter();
    const errors: unknown[] = [];
    call.on('error', (error) => errors.push(error));
    onCallEvent('a test', call, 'data', throwing);
    for (const given of WRONG) call.emit('data', given);
    expect(errors).toEqual(WRONG.map(() => expect.objectContaining({ code: status.INTERNAL })));
    call.removeAllListeners('error');
    // Nothing is left that ends the call.
    call.emit('data', 1);
  });
});
