import { CauseLog } from '../../../src/server/observation/cause-log';
import { FakeClock } from '../../support/fake-clock';

it('logs causes that are new after a minute, however many there were before', () => {
  const clock = new FakeClock();
  const log = new CauseLog(clock);
  const lines: string[] = [];
  const report = (cause: string) => log.report(cause, (others) => lines.push(`${cause} ${others}`));
  for (let i = 0; i < 300; i++) report(`policy ${i}`);
  expect(lines).toHaveLength(200);
  expect(lines.at(-1)).toBe('policy 199 0');
  report('policy 0');
  clock.advance(60_000);
  lines.length = 0;
  report('policy 0');
  report('a new policy');
  report('policy 2');
  expect(lines).toEqual(['policy 0 1', 'a new policy 0', 'policy 2 0']);
});
