import type { CaseResult } from './servers/server-case';
import { runServerCase } from './servers/run-server-case';
import { serverCases } from './servers/server-cases';

// `npm run trial -- chaos --servers` runs each for up to a minute, with 1,000 calls a second, in both variants of the protocol.
const tested = serverCases.filter(({ isVariation }) => isVariation !== true);

describe.each(tested)('$name', (each) => {
  let result: CaseResult;

  beforeAll(async () => {
    result = await runServerCase(each, { isShort: true, features: [] });
  }, 200_000);

  it('fails no call, and does what it says', () => {
    expect(result.load.failures).toEqual([]);
    expect(result.load.calls).toBeGreaterThan(0);
    expect(result.problems).toEqual([]);
  });
});
