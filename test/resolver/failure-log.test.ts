import { FailureLog } from '../../src/resolver/failure-log';
import { silentLogger } from '../../src/util/logger';

describe('the log of why a target has no configuration', () => {
  const lines: string[] = [];
  const logger = { ...silentLogger, error: (text: () => string) => void lines.push(text()) };
  beforeEach(() => {
    lines.length = 0;
  });

  it('has a line for each text, until it is cleared', () => {
    const log = new FailureLog('xds:///svc', logger);
    for (const details of ['a', 'b', 'a', 'b']) log.report(details);
    expect(lines).toEqual(['xds:///svc: no configuration: a', 'xds:///svc: no configuration: b']);
    log.clear();
    log.report('a');
    expect(lines).toHaveLength(3);
  });

  it('remembers at most 100 texts', () => {
    const log = new FailureLog('xds:///svc', logger);
    for (let i = 0; i < 101; i++) log.report(`error ${i}`);
    log.report('error 100');
    expect(lines).toHaveLength(101);
    log.report('error 0');
    expect(lines).toHaveLength(102);
  });
});
