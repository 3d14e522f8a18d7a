import { shareFields, shareList, shareMap, shareSet } from '../../src/util/share';

const [a, b] = [{ name: 'a' }, { name: 'b' }];

describe('shareList', () => {
  it('returns the previous list for the same items', () => {
    const list = [a, b];
    expect(shareList(list, [a, b])).toBe(list);
    expect(shareList(list, list)).toBe(list);
  });

  it.each([
    ['no previous list', undefined, [a]],
    ['another order', [a, b], [b, a]],
    ['an item less', [a, b], [a]],
    ['an item more', [a], [a, b]],
    ['an equal item', [a], [{ ...a }]],
  ])('returns the next one for %s', (_case, previous, next) => {
    expect(shareList(previous, next)).toBe(next);
  });
});

describe('shareSet', () => {
  it('returns the previous set for the same items in any order', () => {
    const set = new Set([a, b]);
    expect(shareSet(set, new Set([b, a]))).toBe(set);
  });

  it.each([
    ['no previous set', undefined, new Set([a])],
    ['an item less', new Set([a, b]), new Set([a])],
    ['another item', new Set([a]), new Set([b])],
  ])('returns the next one for %s', (_case, previous, next) => {
    expect(shareSet(previous, next)).toBe(next);
  });
});

describe('shareMap', () => {
  it('returns the previous map for the same entries in any order', () => {
    const map = new Map([
      ['a', a],
      ['b', b],
    ]);
    expect(shareMap(map, new Map([...map].reverse()))).toBe(map);
  });

  it.each([
    ['no previous map', undefined, new Map([['a', a]])],
    ['another value', new Map([['a', a]]), new Map([['a', b]])],
    ['another key', new Map([['a', undefined]]), new Map([['b', undefined]])],
    ['no entry', new Map([['a', a]]), new Map<string, typeof a>()],
  ])('returns the next one for %s', (_case, previous, next) => {
    expect(shareMap<string, unknown>(previous, next)).toBe(next);
  });
});

describe('shareFields', () => {
  it('returns the previous object for the same properties in any order', () => {
    const object = { a, text: 'x' };
    expect(shareFields(object, { text: 'x', a })).toBe(object);
  });

  it.each<[string, object | undefined, object | undefined]>([
    ['no previous object', undefined, { a }],
    ['no next object', { a }, undefined],
    ['another value', { a }, { a: b }],
    ['an equal value', { a }, { a: { ...a } }],
    ['another property', { a: undefined }, { b: undefined }],
    ['a property more', { a }, { a, b }],
    ['an inherited property', { constructor: undefined }, {}],
  ])('returns the next one for %s', (_case, previous, next) => {
    expect(shareFields(previous, next)).toBe(next);
  });
});
