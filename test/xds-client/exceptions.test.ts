import { AdsSession } from '../../src/xds-client/ads/ads-session';
import { ResourceWaits } from '../../src/xds-client/ads/resource-waits';
import { XdsChannel } from '../../src/xds-client/xds-channel';
import { FakeStream } from '../support/fake-transport';
import { Harness, RecordingWatcher } from './harness';
import { lasting } from '../support/lasting';

const BOOM = 'boom';

function boom(): never {
  throw new Error(BOOM);
}

/** Makes a method throw once, the next time it is called. */
function breakOnce<T extends object>(target: T, method: keyof T & string): () => number {
  let calls = 0;
  const original: unknown = Reflect.get(target, method);
  const broken = function (this: unknown, ...args: unknown[]): unknown {
    if (calls++ === 0) boom();
    return typeof original === 'function' ? Reflect.apply(original, this, args) : undefined;
  };
  Object.defineProperty(target, method, { value: broken, configurable: true, writable: true });
  restore.push(() =>
    Object.defineProperty(target, method, {
      value: original,
      configurable: true,
      writable: true,
    }),
  );
  return () => calls;
}

/** What a harness reports responses and failures to. */
const events = { onResponse() {}, onServerFailure() {} };

const restore: (() => void)[] = [];
afterEach(() => {
  for (const undo of restore.splice(0)) undo();
});

interface Seam {
  readonly name: string;
  /** Breaks the seam. @returns how often it was used since. */
  readonly break: (h: Harness) => () => number;
  /** Whether the exception is about one resource, so that the stream goes on. */
  readonly keepsStream?: boolean;
  /** Default: a response with a new value of `a` and `b`. */
  readonly act?: (h: Harness) => void;
}

function update(h: Harness): void {
  h.send(h.listener, '2', { a: 'two', b: '+two' });
}

const seams: readonly Seam[] = [
  { name: 'the decoder', break: (h) => breakOnce(h.listener, 'decode'), keepsStream: true },
  { name: 'reading a name', break: (h) => breakOnce(h.listener, 'peekName'), keepsStream: true },
  {
    name: 'counting elements',
    break: (h) => breakOnce(Object.assign(h.listener, { countElements: () => 1 }), 'countElements'),
    keepsStream: true,
  },
  {
    name: 'describing what is skipped',
    break: (h) => breakOnce(h.listener, 'describeSkipped'),
    keepsStream: true,
  },
  {
    name: 'describing unused fields',
    break: (h) => {
      h.logger.showsInfo = true;
      return breakOnce(h.listener, 'describeUnusedFields');
    },
    keepsStream: true,
  },
  {
    name: 'describing a change',
    break: (h) => breakOnce(h.listener, 'describeChange'),
    keepsStream: true,
  },
  { name: 'sending', break: () => breakOnce(FakeStream.prototype, 'send') },
  { name: 'reading', break: () => breakOnce(FakeStream.prototype, 'read') },
  { name: 'applying a response', break: () => breakOnce(XdsChannel.prototype, 'onRead') },
  {
    name: 'the end of a stream',
    break: () => breakOnce(AdsSession.prototype, 'onClosed'),
    act: (h) => h.stream.end(14, 'gone'),
  },
  {
    name: 'a watcher',
    break: (h) => {
      let calls = 0;
      h.watch(h.listener, 'a', new RecordingWatcher(() => (calls++ === 1 ? boom() : undefined)));
      return () => calls - 1;
    },
    keepsStream: true,
  },
  {
    name: 'what takes note of responses',
    break: () => breakOnce(events, 'onResponse'),
    keepsStream: true,
  },
  {
    name: 'what takes note of failures',
    break: () => breakOnce(events, 'onServerFailure'),
    act: (h) => {
      h.stream.end(14, 'gone');
      h.clock.advance(1000);
      h.stream.end(14, 'gone');
    },
  },
];

describe.each(seams)('an exception of $name', (seam) => {
  // 1. A good response is accepted. 2. The seam throws while the next event is handled. 3. The next good response is
  // acknowledged, and everything of it is in use.
  it('does not keep the next good response from being obeyed', () => {
    const h = new Harness({ events });
    h.expectsBugs = true;
    const a = h.watch(h.listener, 'a');
    const b = h.watch(h.listener, 'b');
    h.send(h.listener, '1', { a: 'one', b: '+one' });
    const first = h.stream;
    const used = seam.break(h);
    (seam.act ?? update)(h);
    h.clock.advance(5000);
    expect(used()).toBeGreaterThan(0);
    expect(h.stream === first).toBe(seam.keepsStream === true);
    h.send(h.listener, '3', { a: 'three', b: '+three' });
    h.clock.advance(10_000);
    expect([a.values.at(-1), b.values.at(-1)]).toEqual([{ text: 'three' }, { text: '+three' }]);
    expect(h.stream.request).toMatchObject({ versionInfo: '3', errorDetail: undefined });
    expect(h.stream.credits).toBe(1);
    expect(h.client.snapshot().servers[0]).toMatchObject({ state: 'open', lastError: undefined });
  });
});

describe('an exception of the decoder', () => {
  it('rejects its resource only, and is logged once with its stack', () => {
    const h = new Harness();
    const a = h.watch(h.listener, 'a');
    const b = h.watch(h.listener, 'b');
    h.send(h.listener, '1', { a: 'throw', b: 'one' });
    h.clock.advance(1000);
    h.send(h.listener, '2', { a: 'throw', b: 'two' });
    h.clock.advance(1000);
    expect(h.stream.request.errorDetail?.message).toBe(
      'Listener "a": could not be read: decoder is broken',
    );
    expect(a.errors).toMatchObject([{ kind: 'invalid' }]);
    expect(b.values).toEqual([{ text: 'one' }, { text: 'two' }]);
    const stacks = h.logger.errors.filter((line) => line.includes('test-resource.ts'));
    expect(stacks).toEqual([
      expect.stringMatching(/^Listener "a" from management server .*: unexpected error: Error: /s),
    ]);
  });
});

describe('an exception that ends the stream', () => {
  // 1. Each response makes the verdict throw. 2. A stream is opened after each, later and later. 3. The seam works again.
  it('is logged with its stack, and the next stream is opened after a backoff that grows', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    const ends: number[] = [];
    const end = jest.spyOn(ResourceWaits.prototype, 'endOverdue').mockImplementation(boom);
    for (let round = 0; round < 3; round++) {
      const { stream } = h;
      h.send(h.listener, '1', { a: 'one' });
      expect(stream.isOpen).toBe(false);
      ends.push(h.client.snapshot().servers[0]?.retryInMs ?? 0);
      h.clock.advance(4000);
    }
    end.mockRestore();
    expect(ends).toEqual([1000, 1600, 2560]);
    expect(h.client.snapshot().servers[0]?.lastError).toEqual(
      lasting(
        'management server xds.test:1 (node "node-1") cannot be used now: ' +
          'unexpected error of this client, whose stack is in the log: boom',
      ),
    );
    expect(h.logger.errors.filter((line) => line.includes('exceptions.test.ts'))).toHaveLength(1);
    h.send(h.listener, '2', { a: 'two' });
    expect(watcher.values.at(-1)).toEqual({ text: 'two' });
    expect(h.stream.request).toMatchObject({ versionInfo: '2' });
  });
});

describe('a resource with 130,000 violations', () => {
  it('is rejected with those that fit and the number of the others', () => {
    const h = new Harness();
    const watcher = h.watch(h.listener, 'a');
    h.send(h.listener, '1', { a: `!${new Array(130_000).fill('bad').join(',')}` });
    const { message } = h.stream.request.errorDetail ?? {};
    expect(message?.split('; ')).toHaveLength(101);
    expect(message).toMatch(/^Listener "a": bad; .*; and 129900 more$/);
    expect(watcher.errors[0]?.message.length).toBeLessThan(10_000);
    h.send(h.listener, '2', { a: 'good' });
    expect(watcher.values).toEqual([{ text: 'good' }]);
  });
});

describe('violations of many resources', () => {
  it('are counted together with those that a resource counts itself', () => {
    const h = new Harness();
    for (const name of ['a', 'b', 'c']) h.watch(h.listener, name);
    const hundred = new Array(100).fill('bad').join(',');
    h.send(h.listener, '1', {
      a: `!${hundred},and 5 more violations`,
      b: `!${hundred}`,
      c: `!bad,and 7 more violations`,
    });
    expect(h.stream.request.errorDetail?.message).toMatch(/; and 113 more$/);
  });
});
