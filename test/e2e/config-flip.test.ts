import { runConfigFlip, type ConfigFlipReport } from './children/config-flip';

describe('a service that is moved between two complete sets of resources 50 times a second', () => {
  let report: ConfigFlipReport;

  beforeAll(async () => {
    report = await runConfigFlip({
      seconds: 3,
      flipsPerSecond: 50,
      callsPerSecond: 1000,
      minSwitches: 20,
    });
  }, 200_000);

  it('follows each move while it is called 500 times a second', () => {
    // How many of the moves the client has the time to follow depends on the machine; the long mode prints it.
    expect(report.switches).toBeGreaterThanOrEqual(10);
    expect(Object.keys(report.answers).sort()).toEqual(['a1', 'a2', 'b1', 'b2']);
  });

  it('fails no call', () => {
    expect(report.failures).toEqual({});
  });

  it('never combines the route of one set with the endpoints of the other', () => {
    expect(report.mixtures).toEqual({});
  });

  it('holds on to nothing of the set it left last', () => {
    const [, routes = ''] = report.subscribed;
    const set = routes.endsWith('a') ? 'a' : 'b';
    const cluster = `cluster-${set}`;
    expect(report.subscribed).toEqual(['echo.test:50051', `routes-${set}`, cluster, cluster]);
  });
});
