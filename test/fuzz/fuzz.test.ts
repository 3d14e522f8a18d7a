import { fuzz } from './fuzz';

// A short run of `npm run fuzz`, which makes a million inputs. The limit is generous, because the machine may be slow:
// what is looked for are inputs that take for ever.
it('whatever is made of valid input is taken or refused with a reason, and soon', () => {
  const { failures, inputs } = fuzz({ inputs: 5000, seed: 20_261_121, limitMs: 2000 });
  expect(failures).toEqual([]);
  expect([...inputs.values()].filter((count) => count < 50)).toEqual([]);
}, 240_000);

it('goes on after failures, tells the first of them and counts all', () => {
  // Whatever is done takes too long.
  const { failures, failureCount, inputs } = fuzz({ inputs: 100, seed: 1, limitMs: -1 });
  expect(failures).toHaveLength(10);
  expect(failureCount).toBe(100);
  expect([...inputs.values()].reduce((sum, count) => sum + count, 0)).toBe(100);
});
