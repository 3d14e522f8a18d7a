import { isSame } from '../../src/util/same-value';

class Data {
  constructor(readonly value: unknown) {}
}

class Other {
  constructor(readonly value: unknown) {}
}

class Compiled {
  constructor(readonly value: unknown) {}
  run(): unknown {
    return this.value;
  }
}

class Equal extends Compiled {
  equals(other: unknown): boolean {
    return other instanceof Equal && other.value === this.value;
  }
}

const compiled = new Compiled(1);
const act = () => undefined;

describe('isSame', () => {
  it.each<[string, unknown, unknown]>([
    ['primitives', [1, 'a', 2n, NaN, undefined, null], [1, 'a', 2n, NaN, undefined, null]],
    ['nested values', { a: [{ b: { c: [1] } }] }, { a: [{ b: { c: [1] } }] }],
    ['properties in another order', { a: 1, b: 2 }, { b: 2, a: 1 }],
    ['maps', new Map([['a', { x: 1 }]]), new Map([['a', { x: 1 }]])],
    ['sets in another order', new Set(['a', 'b']), new Set(['b', 'a'])],
    ['bytes, of whatever class', Buffer.from([1, 2]), Uint8Array.of(1, 2)],
    ['data of one class', new Data({ a: 1 }), new Data({ a: 1 })],
    ['an object with methods', { of: compiled }, { of: compiled }],
    ['what says so', new Equal(1), new Equal(1)],
    ['one function', { act }, { act }],
  ])('holds for %s', (_, a, b) => {
    expect(isSame(a, b)).toBe(true);
    expect(isSame(b, a)).toBe(true);
  });

  it.each<[string, unknown, unknown]>([
    ['a number and its text', [1], ['1']],
    ['an absent property and an undefined one', {}, { a: undefined }],
    ['null and undefined', [null], [undefined]],
    ['a deep difference', { a: [{ b: { c: [1] } }] }, { a: [{ b: { c: [2] } }] }],
    ['lists of another length', [1, 2], [1]],
    ['lists in another order', [1, 2], [2, 1]],
    ['a list and an object', [1], { 0: 1 }],
    ['a map with another key', new Map([['a', 1]]), new Map([['b', 1]])],
    ['sets', new Set([1]), new Set([2])],
    ['bytes', Buffer.from([1]), Buffer.from([2])],
    ['bytes and a list', Buffer.from([1]), [1]],
    ['data of two classes', new Data(1), new Other(1)],
    ['objects with methods', new Compiled(1), new Compiled(1)],
    ['what says so', new Equal(1), new Equal(2)],
    ['two functions', { act }, { act: () => undefined }],
  ])('does not hold for %s', (_, a, b) => {
    expect(isSame(a, b)).toBe(false);
    expect(isSame(b, a)).toBe(false);
  });
});
