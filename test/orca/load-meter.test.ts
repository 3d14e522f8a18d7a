import { LoadMeter } from '../../src/orca/backend-load';
import { FakeClock } from '../support/fake-clock';

describe('LoadMeter', () => {
  const clock = new FakeClock();
  let cpuMs = 0;
  let meter: LoadMeter;
  beforeEach(() => {
    cpuMs = 0;
    meter = new LoadMeter(clock, () => cpuMs);
  });

  /** Advances the clock, with these events in each second. */
  function run(seconds: number, queries: number, errors = 0, busyMs = 0): void {
    for (let i = 0; i < seconds; i++) {
      for (let j = 0; j < queries; j++) meter.countQuery();
      for (let j = 0; j < errors; j++) meter.countError();
      cpuMs += busyMs;
      clock.advance(1000);
      meter.read();
    }
  }

  it('returns an empty load before any time has passed', () => {
    expect(meter.read()).toEqual({});
  });

  it('returns rates after less than a second', () => {
    meter.countQuery();
    cpuMs += 50;
    clock.advance(100);
    expect(meter.read()).toEqual({
      cpuUtilization: 0.5,
      queriesPerSecond: 10,
      errorsPerSecond: 0,
    });
  });

  it('returns the mean of the last ten seconds', () => {
    run(30, 100, 10, 900);
    expect(meter.read()).toEqual({
      cpuUtilization: 0.9,
      queriesPerSecond: 100,
      errorsPerSecond: 10,
    });
    run(5, 200, 0, 100);
    expect(meter.read()).toEqual({
      cpuUtilization: 0.5,
      queriesPerSecond: 150,
      errorsPerSecond: 5,
    });
    run(5, 200, 0, 100);
    expect(meter.read()).toEqual({
      cpuUtilization: 0.1,
      queriesPerSecond: 200,
      errorsPerSecond: 0,
    });
  });

  it('returns the mean since the last read if that is longer ago', () => {
    run(3, 100);
    clock.advance(57_000);
    for (let i = 0; i < 600; i++) meter.countQuery();
    clock.advance(3000);
    expect(meter.read()).toMatchObject({ queriesPerSecond: 10 });
  });
});
