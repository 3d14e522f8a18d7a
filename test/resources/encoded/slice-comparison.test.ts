import {
  toSlices,
  type SlicedMessage,
  readHeadLength,
} from '../../../src/resources/encoded/sliced-message';
import { compareSlices } from '../../../src/resources/encoded/slice-comparison';
import { splitMessage } from '../../../src/wire/protobuf/encoded-elements';

/** Fields with a length before their content; all content here is short. */
function field(number: number, content: string): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), Buffer.from(content)]);
}

function encode(elements: readonly string[], head = 'where', tail = 'weight'): Buffer {
  return Buffer.concat([
    field(1, head),
    ...elements.map((element) => field(2, element)),
    field(3, tail),
  ]);
}

function slice(bytes: Buffer): SlicedMessage {
  const sliced = toSlices(bytes, splitMessage(bytes, 2));
  if (sliced === undefined) throw new Error('must be in order');
  return sliced;
}

function compare(before: readonly string[], bytes: Buffer) {
  return compareSlices(bytes, 2, slice(encode(before)));
}

/** What is kept as `from-to`, and what is new as its text. */
function describeParts(before: readonly string[], bytes: Buffer): string[] | undefined {
  return compare(before, bytes)?.parts.map((part) =>
    part.kind === 'kept'
      ? `${part.from}-${part.to}`
      : bytes.subarray(part.start, part.end).toString(),
  );
}

const LIST = Array.from({ length: 100 }, (_, i) => `element ${i}`);

describe('a message compared with its previous version', () => {
  it.each([
    ['the same', LIST, ['0-100']],
    ['one replaced', LIST.with(50, 'other'), ['0-50', 'other', '51-100']],
    [
      'one replaced by a longer one',
      LIST.with(50, 'a longer one'),
      ['0-50', 'a longer one', '51-100'],
    ],
    ['the first replaced', LIST.with(0, 'other'), ['other', '1-100']],
    ['the last replaced', LIST.with(99, 'other'), ['0-99', 'other']],
    [
      'two replaced, far apart',
      LIST.with(3, 'x').with(90, 'y'),
      ['0-3', 'x', '4-90', 'y', '91-100'],
    ],
    ['one added in the middle', LIST.toSpliced(10, 0, 'new'), ['0-10', 'new', '10-100']],
    ['one added at the end', [...LIST, 'new'], ['0-100', 'new']],
    ['one removed', LIST.toSpliced(10, 1), ['0-10', '11-100']],
    ['many removed', LIST.toSpliced(10, 80), ['0-10', '90-100']],
    ['the last ones removed', LIST.slice(0, 70), ['0-70']],
    ['all removed', [], []],
    [
      'one moved to the front',
      ['element 70', ...LIST.toSpliced(70, 1)],
      ['element 70', '0-70', '71-100'],
    ],
    ['one moved to the end', [...LIST.toSpliced(5, 1), 'element 5'], ['0-5', '6-100', 'element 5']],
    ['one listed twice', [...LIST, 'element 5'], ['0-100', 'element 5']],
  ])('%s', (_case, list, expected) => {
    expect(describeParts(LIST, encode(list))).toEqual(expected);
  });

  it.each([
    ['as it is', LIST],
    ['with shifted places', ['a longer first one', ...LIST.slice(1)]],
    ['shortened', LIST.slice(5, 50)],
  ])('has the places of all elements: %s', (_case, list) => {
    const bytes = encode(list);
    expect(compare(LIST, bytes)?.slices).toEqual(slice(bytes));
  });

  it('has the other fields, whether they changed or not', () => {
    const bytes = encode(LIST, 'elsewhere', 'heavier');
    const comparison = compare(LIST, bytes);
    expect(comparison?.parts).toEqual([{ kind: 'kept', from: 0, to: 100 }]);
    expect(comparison?.rest.toString()).toBe(
      Buffer.concat([field(1, 'elsewhere'), field(3, 'heavier')]).toString(),
    );
  });

  it('is not taken for the same where the bytes of an element are found across others', () => {
    const before = ['ab', 'cd', field(2, 'x').toString(), 'ef'];
    expect(describeParts(before, encode(['ab', 'x', 'ef']))).toEqual(['0-1', 'x', '3-4']);
  });

  it.each([
    ['most of it is new', encode(LIST.map((element) => `${element}!`))],
    ['a field is between the elements', Buffer.concat([encode(LIST), encode(LIST)])],
    ['an element is longer than the bytes', encode(LIST).subarray(0, 100)],
    ['an element is no message', Buffer.concat([field(1, 'where'), Buffer.from([2 << 3, 1])])],
    ['the bytes end within a tag', Buffer.concat([field(1, 'where'), Buffer.from([0x92])])],
    ['the bytes after the elements are malformed', Buffer.concat([encode(LIST), Buffer.from([7])])],
  ])('is given up if %s', (_case, bytes) => {
    expect(compare(LIST, bytes)).toBeUndefined();
  });

  it('may have up to a sixteenth of new elements', () => {
    const long = Array.from({ length: 3200 }, (_, i) => `element ${i}`);
    const changed = (count: number) =>
      long.map((e, i) => (i % 16 === 0 && i / 16 < count ? `${i}!` : e));
    expect(describeParts(long, encode(changed(200)))).toHaveLength(400);
    expect(describeParts(long, encode([...changed(200), 'one more']))).toBeUndefined();
  });
});

describe('the head of a message', () => {
  it.each([
    ['none', Buffer.alloc(0), 0],
    ['all of it', field(1, 'where'), 7],
    ['what is before the endpoints', encode(['x']), 7],
    ['malformed', Buffer.from([0x0a, 5, 1]), undefined],
  ])('%s', (_case, bytes, expected) => {
    expect(readHeadLength(bytes, 2)).toBe(expected);
  });
});
