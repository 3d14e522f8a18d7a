import {
  readBoolean,
  readDurationMs,
  readInteger,
  readList,
  readMap,
  readNumber,
  readObject,
  readPositiveDurationMs,
  readRequiredString,
  readString,
  type JsonFields,
} from '../../src/util/json-fields';
import { Violations } from '../../src/util/violations';

describe('readObject', () => {
  it('reads fields of any name', () => {
    const json: unknown = JSON.parse('{"__proto__": 1, "constructor": 2}');
    expect(readObject(json, Violations.root())).toEqual(
      new Map([
        ['__proto__', 1],
        ['constructor', 2],
      ]),
    );
  });

  it('omits fields that are null', () => {
    expect(readObject({ a: null, b: 0 }, Violations.root())).toEqual(new Map([['b', 0]]));
  });

  it.each([null, undefined, [], 'x', 1])('refuses %j', (json) => {
    const violations = Violations.root();
    expect(readObject(json, violations.at('field'))).toBeUndefined();
    expect(violations.all).toEqual(['field: must be an object']);
  });
});

describe('readMap', () => {
  it('keeps entries that are null', () => {
    expect(readMap({ a: null, b: 0 }, Violations.root())).toEqual(
      new Map([
        ['a', null],
        ['b', 0],
      ]),
    );
  });

  it.each([null, undefined, [], 'x', 1])('refuses %j', (json) => {
    const violations = Violations.root();
    expect(readMap(json, violations.at('field'))).toBeUndefined();
    expect(violations.all).toEqual(['field: must be an object']);
  });
});

/** Reads fields as a parser does: through `readObject`. */
function fieldsOf(json: object): JsonFields {
  return readObject(json, Violations.root()) ?? new Map<string, unknown>();
}

describe('readBoolean', () => {
  it.each([
    [{ on: true }, true],
    [{ on: false }, false],
    [{}, true],
    [{ on: null }, true],
  ])('reads %j', (json, expected) => {
    const violations = Violations.root();
    expect(readBoolean(fieldsOf(json), 'on', true, violations)).toBe(expected);
    expect(violations.count).toBe(0);
  });

  it('rejects other values', () => {
    const violations = Violations.root();
    readBoolean(new Map([['on', 'true']]), 'on', false, violations);
    expect(violations.all).toEqual(['on: must be a boolean']);
  });
});

describe('readInteger', () => {
  const bounds = { min: 1, max: 10 };

  it.each([
    [1, 1],
    [10, 10],
    ['7', 7],
  ])('reads %j', (json, expected) => {
    expect(readInteger(json, bounds, Violations.root())).toBe(expected);
  });

  it.each([0, 11, 1.5, '', ' ', 'x', true, null, undefined, [], NaN])('refuses %j', (json) => {
    const violations = Violations.root();
    expect(readInteger(json, bounds, violations.at('n'))).toBeUndefined();
    expect(violations.all).toEqual(['n: must be a whole number from 1 to 10']);
  });
});

describe('readRequiredString', () => {
  it('reads a string', () => {
    expect(readRequiredString(fieldsOf({ s: 'x' }), 's', Violations.root())).toBe('x');
  });

  it.each([
    [{}, 's: field not present'],
    [{ s: null }, 's: field not present'],
    [{ s: '' }, 's: must not be empty'],
    [{ s: 1 }, 's: must be a string'],
  ])('refuses %j', (json, violation) => {
    const violations = Violations.root();
    expect(readRequiredString(fieldsOf(json), 's', violations)).toBeUndefined();
    expect(violations.all).toEqual([violation]);
  });
});

describe('an optional field', () => {
  const readers = {
    string: (json: object, at: Violations) => readString(fieldsOf(json), 'f', at),
    list: (json: object, at: Violations) => readList(fieldsOf(json), 'f', at),
    number: (json: object, at: Violations) => readNumber(fieldsOf(json), 'f', 7, at),
    duration: (json: object, at: Violations) => readDurationMs(fieldsOf(json), 'f', 7000, at),
    positiveDuration: (json: object, at: Violations) =>
      readPositiveDurationMs(fieldsOf(json), 'f', 7000, at),
  };
  type Kind = keyof typeof readers;

  it.each<[Kind, object, unknown]>([
    ['string', { f: 'x' }, 'x'],
    ['string', { f: '' }, ''],
    ['string', {}, undefined],
    ['string', { f: null }, undefined],
    ['list', { f: [1] }, [1]],
    ['list', {}, []],
    ['list', { f: null }, []],
    ['number', { f: 1.5 }, 1.5],
    ['number', { f: '1.5' }, 1.5],
    ['number', { f: 'NaN' }, NaN],
    ['number', { f: 'Infinity' }, Infinity],
    ['number', {}, 7],
    ['number', { f: null }, 7],
    ['duration', { f: '1.5s' }, 1500],
    ['duration', { f: '0s' }, 0],
    ['duration', {}, 7000],
    ['duration', { f: null }, 7000],
    ['positiveDuration', { f: '1.5s' }, 1500],
    ['positiveDuration', {}, 7000],
    ['positiveDuration', { f: null }, 7000],
  ])('is read as a %s from %j', (kind, json, expected) => {
    const violations = Violations.root();
    expect(readers[kind](json, violations)).toEqual(expected);
    expect(violations.count).toBe(0);
  });

  it.each<[Kind, object, unknown, string]>([
    ['string', { f: 1 }, undefined, 'must be a string'],
    ['list', { f: {} }, [], 'must be a list'],
    ['number', { f: ' ' }, 7, 'must be a number'],
    ['number', { f: true }, 7, 'must be a number'],
    ['duration', { f: '-1s' }, 7000, 'must be a duration that is not negative, such as "1.5s"'],
    ['duration', { f: 1 }, 7000, 'must be a duration that is not negative, such as "1.5s"'],
    ['positiveDuration', { f: '0s' }, 7000, 'must be a duration above zero, such as "7s"'],
    ['positiveDuration', { f: 1 }, 7000, 'must be a duration above zero, such as "7s"'],
  ])('is refused as a %s from %j', (kind, json, fallback, reason) => {
    const violations = Violations.root();
    expect(readers[kind](json, violations)).toEqual(fallback);
    expect(violations.all).toEqual([`f: ${reason}`]);
  });
});
