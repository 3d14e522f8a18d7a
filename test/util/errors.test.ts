import { assertNever } from '../../src/util/errors';
import { errorMessage } from '../../src/util/errors';

describe('errorMessage', () => {
  it.each([
    [new TypeError('bad type'), 'bad type'],
    ['text', 'text'],
    [undefined, 'undefined'],
    [null, 'null'],
    [new Date(NaN), 'Invalid Date'],
  ])('%p reads %s', (reason, text) => {
    expect(errorMessage(reason)).toBe(text);
  });
});

describe('assertNever', () => {
  it('throws an error with the value of the missing case', () => {
    // What the compiler prevents, reached as untyped code would reach it.
    const unchecked: (value: never) => never = assertNever;
    expect(() => Reflect.apply(unchecked, undefined, ['surprise'])).toThrow(
      new Error('Unexpected value: surprise'),
    );
  });
});
