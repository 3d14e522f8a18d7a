import { fuzz } from './fuzz';

// A short run of `npm run trial -- fuzz`, which makes a million inputs. The limit is generous, because the machine may be slow:
// what is looked for are inputs that take for ever.
it('whatever is made of valid input is taken or refused with a reason, and soon', async () => {
  const { failures, inputs } = await fuzz({ inputs: 6400, seed: 20_261_121, limitMs: 2000 });
  expect(failures).toEqual([]);
  expect([...inputs.values()].filter((count) => count < 50)).toEqual([]);
}, 240_000);

it('goes on after failures, tells the first of them and counts all', async () => {
  // Whatever is done takes too long.
  const { failures, failureCount, inputs } = await fuzz({ inputs: 100, seed: 1, limitMs: -1 });
  expect(failures).toHaveLength(10);
  expect(failureCount).toBe(100);
  expect([...inputs.values()].reduce((sum, count) => sum + count, 0)).toBe(100);
});

// Weak references are cleared in between only, and memory that they keep would look like a leak.
it('is not all done in one turn of the event loop', async () => {
  let turns = 0;
  const seen: number[] = [];
  const timer = setInterval(() => turns++);
  await fuzz({ inputs: 2000, seed: 1, limitMs: 2000, onProgress: () => void seen.push(turns) });
  clearInterval(timer);
  expect(new Set(seen).size).toBeGreaterThan(2);
}, 120_000);
