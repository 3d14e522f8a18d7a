import { decodeWhole, type ResourceType } from '../../src/xds-client/resource-type';
import { serverWith } from '../resources/decode-json';
import { fuzz } from './fuzz';
import { encodedSamples } from './samples/messages';
import { createTypes } from './targets';

// A short run of `npm run trial -- fuzz`, which makes a million inputs. The limit is generous, because the machine may be slow:
// what is looked for are inputs that take for ever.
it('whatever is made of valid input is taken or refused with a reason, and soon', async () => {
  let turns = 0;
  const seen = new Set<number>();
  const timer = setInterval(() => turns++);
  const onProgress = () => void seen.add(turns);
  const options = { inputs: 1600, seed: 20_261_121, limitMs: 2000, onProgress };
  const { failures, inputs } = await fuzz(options);
  clearInterval(timer);
  expect(failures).toEqual([]);
  expect([...inputs.values()].filter((count) => count < 10)).toEqual([]);
  // The event loop has its turns in between: only then are weak references cleared, and memory that they keep would look like a leak.
  expect(seen.size).toBeGreaterThan(2);
}, 240_000);

it('begins with resources that are accepted', () => {
  const context = { server: serverWith(), certificateProviders: new Set(['mesh']) };
  for (const type of Object.values<ResourceType<unknown>>({ ...createTypes() })) {
    const samples = encodedSamples(type.typeUrl.slice(type.typeUrl.indexOf('/') + 1));
    const results = samples.map((bytes) => {
      return decodeWhole(type, bytes, { ...context, previous: () => undefined }).result;
    });
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
  }
});

it('goes on after failures, tells the first of them and counts all', async () => {
  // Whatever is done takes too long.
  const { failures, failureCount, inputs } = await fuzz({ inputs: 100, seed: 1, limitMs: -1 });
  expect(failures).toHaveLength(10);
  expect(failureCount).toBe(100);
  expect([...inputs.values()].reduce((sum, count) => sum + count, 0)).toBe(100);
});
