import { rotate, type RotationReport } from './rotation';

// `npm run trial -- chaos --case rotation` makes ten rotations beside 500 calls a second, and measures how soon a policy is in force.
describe('certificates and names of servers that rotate under load', () => {
  const rotations = 3;
  let report: RotationReport;

  beforeAll(async () => {
    report = await rotate({ rotations, callsPerSecond: 50 });
  }, 120_000);

  it('fail no call', () => {
    expect(report.failures).toEqual([]);
    expect(report.calls).toBeGreaterThan(rotations);
  });

  it('are those of the moment in each new connection', () => {
    const expected = Array.from(
      { length: rotations },
      (_, i) => `CN=server-${i + 1} CN=client-${i + 1}`,
    );
    expect(report.handshakes).toEqual(expect.arrayContaining(expected));
  });

  it('are not accepted once the policy names others, by connections of before either', () => {
    expect(report.callsAfterRevocation).toBe(0);
    expect(report.isOldConnectionUsed).toBe(false);
  });
});
