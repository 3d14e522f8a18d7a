import { parseDurationString } from '../../src/util/duration-string';

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
