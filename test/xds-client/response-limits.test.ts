import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { ENVELOPE_LIMIT, MAX_RESOURCES, WRAPPER_LIMIT } from '../../src/util/limits';
import { DeltaHarness, Harness } from './harness';
import { wrapper } from './test-resource';

/** Encodes a response with one field repeated. @param before Whether type and nonce come before it. */
function flood(
  typeUrl: string,
  { field, value = new Uint8Array() }: { readonly field: number; readonly value?: Uint8Array },
  count: number,
  before = true,
): Uint8Array {
  const head = new BinaryWriter();
  head.uint32((4 << 3) | 2).string(typeUrl);
  head.uint32((5 << 3) | 2).string('flood');
  const one = new BinaryWriter();
  one.uint32((field << 3) | 2).bytes(value);
  const bytes = Buffer.from(one.finish());
  const many = Buffer.alloc(count * bytes.length, bytes);
  return Buffer.concat(before ? [head.finish(), many] : [many, head.finish()]);
}

const NAMES = 6;
const NAME_OBJECTS = 8;
const UNKNOWN = 99;

const variants = [
  {
    variant: 'state of the world',
    create: () => new Harness(),
    fields: { 'resource errors': 7, 'unknown fields': UNKNOWN, 'control planes': 6 },
    respond: (h: Harness, value: string) => h.send(h.listener, '2', { a: value }),
    answer: ({ stream }: Harness) => stream.request,
  },
  {
    variant: 'incremental',
    create: () => new DeltaHarness(),
    fields: {
      'names of removed resources': NAMES,
      'names with parameters of removed resources': NAME_OBJECTS,
      'unknown fields': UNKNOWN,
      'resource errors': 9,
    },
    respond: (h: Harness, value: string) => {
      if (h instanceof DeltaHarness) h.sendDelta(h.listener, '2', { a: value });
    },
    answer: ({ stream }: Harness) => stream.deltaRequest,
  },
];

describe.each(variants)('a response with too much beside its resources ($variant)', (each) => {
  const { create, fields, respond, answer } = each;

  const start = () => {
    const h = create();
    const watcher = h.watch(h.listener, 'a');
    respond(h, 'one');
    expect(watcher.take()).toEqual(['value one']);
    return { h, watcher };
  };

  it.each(Object.entries(fields))('is rejected with its nonce: %s', (_what, field) => {
    const { h, watcher } = start();
    h.stream.respondBytes(flood(h.listener.typeUrl, { field }, ENVELOPE_LIMIT.maxFields + 1));
    expect(answer(h)).toMatchObject({
      responseNonce: 'flood',
      errorDetail: {
        message: expect.stringContaining(
          `more than ${ENVELOPE_LIMIT.maxFields} fields in one response besides its resources`,
        ),
      },
    });
    expect(watcher.take()).toEqual([]);
    respond(h, 'two');
    expect(watcher.take()).toEqual(['value two']);
    expect(answer(h).errorDetail).toBeUndefined();
  });

  it.each(Object.entries(fields))(
    'ends the stream if its nonce is after it: %s',
    (_what, field) => {
      const { h, watcher } = start();
      const { stream } = h;
      const bytes = flood(h.listener.typeUrl, { field }, 5 * MAX_RESOURCES, false);
      stream.respondBytes(bytes);
      expect(stream.isOpen).toBe(false);
      expect(h.client.snapshot().servers[0]?.lastError).toMatch(
        /sent a response that cannot be decoded: .*more than 400000 fields in one list/,
      );
      h.clock.advance(2000);
      respond(h, 'two');
      expect(watcher.values.at(-1)).toEqual({ text: 'two' });
    },
  );

  it('is rejected if it has a text that is too long', () => {
    const { h } = start();
    const value = Buffer.alloc(2 ** 20 + 1, 'x');
    h.stream.respondBytes(flood(h.listener.typeUrl, { field: 1, value }, 1));
    expect(answer(h)).toMatchObject({
      responseNonce: 'flood',
      errorDetail: { message: expect.stringContaining('a text of 1048577 bytes') },
    });
  });

  it('is not read further than its limit', () => {
    const { h, watcher } = start();
    const bytes = flood(h.listener.typeUrl, { field: 2 }, MAX_RESOURCES + 1);
    h.stream.respondBytes(bytes);
    expect(answer(h)).toMatchObject({
      responseNonce: 'flood',
      errorDetail: {
        message: `${MAX_RESOURCES + 1} resources, more than ${MAX_RESOURCES}`,
      },
    });
    expect(watcher.take()).toEqual([]);
  });
});

describe('a resource with too many aliases', () => {
  it('is rejected, and others are accepted', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    const other = h.watch(h.listener, 'b');
    const aliases = new Array<string>(WRAPPER_LIMIT.maxFields + 1).fill('');
    h.stream.respondDelta({
      typeUrl: h.listener.typeUrl,
      resources: [
        wrapper('a', h.listener.resource('a', 'one'), { aliases }),
        wrapper('b', h.listener.resource('b', 'two')),
      ],
    });
    expect(h.stream.deltaRequest.errorDetail?.message).toBe(
      `resources[0]: wrapper cannot be decoded: aliases: more than ${WRAPPER_LIMIT.maxFields} fields in one resource wrapper`,
    );
    expect([watcher.take(), other.take()]).toEqual([[], ['value two']]);
  });
});

describe('names of removed resources', () => {
  it('are read in steps, and those that are repeated are removed once', () => {
    const h = new DeltaHarness();
    const watcher = h.watch(h.listener, 'a');
    h.sendDelta(h.listener, '1', { a: 'one' });
    watcher.take();
    let now = 0;
    jest.spyOn(h.clock, 'monotonicMs').mockImplementation(() => (now += 0.01));
    const removed = new Array<string>(50_000).fill('a');
    h.sendDelta(h.listener, '2', {}, removed);
    const turns = h.clock.pendingTimers;
    expect(turns).toBeGreaterThan(0);
    expect(watcher.take()).toEqual([]);
    for (let turn = 0; turn < 100_000 && h.stream.credits === 0; turn++) h.clock.advance(1);
    expect(watcher.take()).toHaveLength(1);
  });
});
