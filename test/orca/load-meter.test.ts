import { LoadMeter } from '../../src/orca/load-meter';
import { FakeClock } from '../support/fake-clock';

describe('the measured load of a backend', () => {
  const clock = new FakeClock();
  let cpuMs = 0;
  let meter: LoadMeter;
  beforeEach(() => {
    cpuMs = 0;
    meter = new LoadMeter(clock, () => cpuMs);
  });

  /** Lets time pass in which so much happens each second. */
  function run(seconds: number, queries: number, errors = 0, busyMs = 0): void {
    for (let i = 0; i < seconds; i++) {
      for (let j = 0; j < queries; j++) meter.countQuery();
      for (let j = 0; j < errors; j++) meter.countError();
      cpuMs += busyMs;
      clock.advance(1000);
      meter.read();
    }
  }

  it('is unknown before any time has passed', () => {
    expect(meter.read()).toEqual({});
  });

  it('is known after less than a second', () => {
    meter.countQuery();
    cpuMs += 50;
    clock.advance(100);
    expect(meter.read()).toEqual({
      cpuUtilization: 0.5,
      queriesPerSecond: 10,
      errorsPerSecond: 0,
    });
  });

  it('is the mean of the last ten seconds', () => {
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

  it('is that of the time since it was read last, if that is longer', () => {
    run(3, 100);
    clock.advance(57_000);
    for (let i = 0; i < 600; i++) meter.countQuery();
    clock.advance(3000);
    expect(meter.read()).toMatchObject({ queriesPerSecond: 10 });
  });
});
