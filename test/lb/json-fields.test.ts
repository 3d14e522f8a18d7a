import { readBoolean, readInteger, readObject } from '../../src/lb/json-fields';
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

  it.each([null, undefined, [], 'x', 1])('refuses %j', (json) => {
    const violations = Violations.root();
    expect(readObject(json, violations.at('field'))).toBeUndefined();
    expect(violations.all).toEqual(['field: must be an object']);
  });
});

describe('readBoolean', () => {
  it.each([
    [{ on: true }, true],
    [{ on: false }, false],
    [{}, true],
    [{ on: null }, true],
  ])('reads %j', (json, expected) => {
    const violations = Violations.root();
    expect(readBoolean(new Map(Object.entries(json)), 'on', true, violations)).toBe(expected);
    expect(violations.count).toBe(0);
  });

  it('refuses anything else', () => {
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
