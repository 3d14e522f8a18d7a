import { atOnce, contained, parseContained } from '../../src/util/contained';
import { errorMessage, errorStack } from '../../src/util/errors';
import { Violations } from '../../src/util/violations';

describe('contained', () => {
  it('returns the result of the function', () => {
    expect(contained((a: number, b: number) => a + b, fail)(1, 2)).toBe(3);
  });

  it.each([
    ['an exception', () => thrown(new Error('broken'))],
    ['a rejection', () => Promise.reject(new Error('broken'))],
    ['a promise whose `then` throws', () => ({ then: () => thrown(new Error('broken')) })],
    ['a result whose `then` cannot be read', () => unreadable()],
  ])('returns undefined after %s, which goes to onError', async (_name, call) => {
    const errors: unknown[] = [];
    expect(contained<[], unknown>(call, (error) => errors.push(error))()).toBeUndefined();
    await Promise.resolve();
    expect(errors.map(errorMessage)).toEqual(['broken']);
  });

  it('returns undefined for a promise that is fulfilled', () => {
    expect(contained(() => Promise.resolve(1), fail)()).toBeUndefined();
  });
});

describe('atOnce', () => {
  it('throws the rule for a promise, whose rejection is dropped', () => {
    expect(() => atOnce(Promise.reject(new Error('broken')), 'must not wait')).toThrow(
      new Error('must not wait'),
    );
    expect(atOnce(1, 'must not wait')).toBe(1);
  });
});

describe('parseContained', () => {
  it.each([
    [() => thrown(new Error('bad')), ['bad']],
    [() => thrown(new Error('')), ['is invalid']],
    [() => thrown(new AggregateError([new Error('a'), 'b'])), ['a', 'b']],
    [() => thrown(Object.create(null)), ['an exception without a text']],
    [
      () => Promise.reject(new Error('late')),
      ['the filter must parse its config at once, not return a promise'],
    ],
  ])('adds what is thrown to the violations (%#)', (parse, expected) => {
    const violations = Violations.root();
    expect(parseContained<unknown>(parse, violations, 'the filter')).toBeUndefined();
    expect(violations.all).toEqual(expected);
  });
});

describe('the text of an exception', () => {
  class Hostile extends Error {
    override get message(): string {
      throw new Error('no message');
    }

    override get stack(): string {
      throw new Error('no stack');
    }
  }

  it.each([[Object.create(null)], [new Hostile()], [{ toString: () => thrown(1) }]])(
    'is that it has none if it cannot be read (%#)',
    (reason: unknown) => {
      expect(errorMessage(reason)).toBe('an exception without a text');
      expect(errorStack(reason)).toBe('an exception without a text');
    },
  );
});

function thrown(error: unknown): never {
  throw error;
}

function unreadable(): object {
  return Object.defineProperty({}, 'then', { get: () => thrown(new Error('broken')) });
}

function fail(): never {
  throw new Error('there is no error');
}
