import { runChild } from '../support/run-child';
import type { ConfigFlipReport } from './children/config-flip';

/** In a process of its own, where nothing else takes its time. */
async function runConfigFlip(flags: readonly string[]): Promise<ConfigFlipReport> {
  // It ends with an error when calls fail, and says why all the same.
  const ended = runChild('config-flip', { args: flags });
  const { stdout } = await ended.catch((error: { stdout: string }) => error);
  return JSON.parse(stdout) as ConfigFlipReport;
}

describe('a service that is moved between two complete sets of resources 50 times a second', () => {
  let report: ConfigFlipReport;

  beforeAll(async () => {
    report = await runConfigFlip(['--seconds=3', '--calls=500', '--min-switches=5']);
  }, 200_000);

  it('follows each move while it is called 500 times a second', () => {
    // How many of the moves the client has the time to follow depends on the machine; the long mode prints it.
    expect(report.switches).toBeGreaterThanOrEqual(5);
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
