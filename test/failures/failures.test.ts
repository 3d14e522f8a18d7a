import { FAILURES } from './server-failures';
import { goldenNames, goldenOf, tableNames } from './expected';
import { observeShortly } from './observe';

describe('what a failure looks like', () => {
  it('is known for 47 failures', () => {
    expect(FAILURES).toHaveLength(47);
    const names = FAILURES.map(({ name }) => name);
    expect(goldenNames).toEqual(names);
    expect(tableNames).toEqual(names);
  });

  it.each(FAILURES.map((failure, index) => [failure.name, failure, index] as const))(
    'in the status of calls and in the log: %s',
    async (name, failure, index) => {
      const expected = goldenOf(name);
      expect(await observeShortly(failure, index, expected)).toEqual(expected);
    },
  );
});
