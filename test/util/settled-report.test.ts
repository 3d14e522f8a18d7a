import { SettledReport } from '../../src/util/settled-report';
import { FakeClock } from '../support/fake-clock';

describe('the report of a change that settles', () => {
  it('is made once, with the latest failure, a second after the first', () => {
    const clock = new FakeClock();
    const settled = new SettledReport(clock);
    const reports: string[] = [];
    settled.schedule(() => reports.push('first'));
    clock.advance(900);
    settled.schedule(() => reports.push('second'));
    expect(reports).toEqual([]);
    clock.advance(100);
    expect(reports).toEqual(['second']);
    clock.advance(10_000);
    expect(reports).toEqual(['second']);
  });

  it('is not made of a failure that is over', () => {
    const clock = new FakeClock();
    const settled = new SettledReport(clock);
    settled.schedule(() => fail('the failure is over'));
    settled.cancel();
    clock.advance(10_000);
  });
});

function fail(reason: string): never {
  throw new Error(reason);
}
