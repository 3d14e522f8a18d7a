import { runSoak, type SoakReport } from './children/soak';

describe('channels that are opened, called and closed again and again', () => {
  let report: SoakReport;

  beforeAll(async () => {
    report = await runSoak({ rounds: 8, size: 10, roundMs: 0 });
  }, 200_000);

  it('fail no call', () => {
    expect(report.calls).toBe(80);
    expect(report.failures).toEqual([]);
  });

  it('leave no timer and no connection behind', () => {
    expect(report.left).toEqual([]);
  });

  it('leave no client at the control plane', () => {
    expect(report.clientsLeft).toBe(0);
  });
});
