import {
  describeDuration,
  durationToMs,
  formatDurationString,
  msToDuration,
  parseDurationString,
} from '../../src/util/duration';
import { Violations } from '../../src/util/violations';

describe('a duration', () => {
  it.each<[bigint, number, number]>([
    [0n, 0, 0],
    [1n, 0, 1000],
    [2n, 500_000_000, 2500],
    [0n, 1, 0.000001],
    [0n, 999_999_999, 999.999999],
    [315_576_000_000n, 0, 315_576_000_000_000],
  ])('of %s s and %s ns is %s ms', (seconds, nanos, expected) => {
    expect(durationToMs({ seconds, nanos }, Violations.root())).toBe(expected);
  });

  it.each<[number, bigint, number]>([
    [0, 0n, 0],
    [2500, 2n, 500_000_000],
    [0.000001, 0n, 1],
    [999.9999999, 0n, 999_999_999],
  ])('of %s ms is %s s and %s ns', (ms, seconds, nanos) => {
    expect(msToDuration(ms)).toEqual({ seconds, nanos });
  });

  it.each<[bigint, number, readonly string[]]>([
    [-1n, 0, ['d.seconds: must be from 0 to 315576000000, not -1']],
    [315_576_000_001n, 0, ['d.seconds: must be from 0 to 315576000000, not 315576000001']],
    [0n, -1, ['d.nanos: must be from 0 to 999999999, not -1']],
    [0n, 1_000_000_000, ['d.nanos: must be from 0 to 999999999, not 1000000000']],
    [
      -9_223_372_036_854_775_808n,
      -2_147_483_648,
      [
        'd.seconds: must be from 0 to 315576000000, not -9223372036854775808',
        'd.nanos: must be from 0 to 999999999, not -2147483648',
      ],
    ],
  ])('of %s s and %s ns is refused', (seconds, nanos, expected) => {
    const violations = Violations.root();
    expect(durationToMs({ seconds, nanos }, violations.at('d'))).toBeUndefined();
    expect(violations.all).toEqual(expected);
  });
});

describe('parseDurationString', () => {
  it.each([
    ['600s', 600_000],
    ['0s', 0],
    ['1.5s', 1500],
    ['0.250000000s', 250],
    ['600', undefined],
    ['10m', undefined],
    ['-1s', undefined],
    ['1.s', undefined],
    ['.5s', undefined],
    ['1.0000000001s', undefined],
    ['1e3s', undefined],
    [' 1s', undefined],
    ['', undefined],
  ])('reads %j as %p ms', (text, expected) => {
    expect(parseDurationString(text)).toBe(expected);
  });
});

describe('formatDurationString', () => {
  it.each([0, 1, 1.5, 1000, 1001, 90_000, 0.000001, 315_576_000_000_000])(
    'writes %s ms as text that is read as the same',
    (ms) => {
      expect(parseDurationString(formatDurationString(ms))).toBe(ms);
    },
  );
});

describe('describeDuration', () => {
  it.each([
    [0, '0 s'],
    [1e-6, 'less than 0.001 s'],
    [0.999_999, 'less than 0.001 s'],
    [1, '0.001 s'],
    [250, '0.25 s'],
    [1000 / 3, '0.333 s'],
    [15_000, '15 s'],
    [100_000, '100 s'],
    [315_576_000_000_000, '315576000000 s'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(describeDuration(ms)).toBe(text);
  });
});
