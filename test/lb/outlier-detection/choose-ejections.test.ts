import {
  failurePercentageEjections,
  successRateEjections,
} from '../../../src/lb/outlier-detection/choose-ejections';
import { seededRandom } from '../../support/seeded-random';

interface Row {
  readonly name: string;
  readonly successes: number;
  readonly failures: number;
  readonly isEjected: boolean;
}

const successRate = {
  stdevFactor: 1900,
  enforcementPercentage: 100,
  minimumHosts: 5,
  requestVolume: 100,
};
const failurePercentage = {
  threshold: 85,
  enforcementPercentage: 100,
  minimumHosts: 5,
  requestVolume: 50,
};
const limit = { endpointCount: 100, ejectedCount: 0, maxEjectionPercent: 100 };
const always = () => 0;

/** Endpoints by name, with successes and failures. */
function rows(calls: Record<string, readonly [number, number]>, ejected = ''): Row[] {
  return Object.entries(calls).map(([name, [successes, failures]]) => ({
    name,
    successes,
    failures,
    isEjected: ejected.includes(name),
  }));
}

/** `a ejected`, for each outlier. */
function summary(outliers: readonly { candidate: Row; verdict: string }[]): string[] {
  return outliers.map(({ candidate, verdict }) => `${candidate.name} ${verdict}`);
}

const good = { a: [100, 0], b: [100, 0], c: [100, 0], d: [100, 0] } as const;

describe('successRateEjections', () => {
  const eject = (
    candidates: readonly Row[],
    config: Partial<typeof successRate> = {},
    within: Partial<typeof limit> = {},
    random = always,
  ) =>
    summary(
      successRateEjections(
        candidates,
        { ...successRate, ...config },
        { ...limit, ...within },
        random,
      ),
    );

  it.each<[string, Row[], Partial<typeof successRate>, string[]]>([
    ['the one that fails', rows({ ...good, e: [0, 100] }), {}, ['e ejected']],
    // Mean 0.98, standard deviation 0.04: 0.98 - 1.9 * 0.04 = 0.904.
    ['one below the threshold', rows({ ...good, e: [90, 10] }), {}, ['e ejected']],
    ['none that is at the mean', rows({ ...good, e: [100, 0] }), {}, []],
    // One of five is two standard deviations off at most.
    [
      'none when the factor is too great',
      rows({ ...good, e: [0, 100] }),
      { stdevFactor: 2000 },
      [],
    ],
    [
      'none that is just above the threshold',
      rows({ a: [100, 0], b: [98, 2], c: [99, 1], d: [97, 3], e: [96, 4] }),
      {},
      [],
    ],
    ['none when too few have calls', rows({ ...good, e: [0, 99] }), {}, []],
    [
      'only of those with enough calls',
      rows({ ...good, e: [100, 0], f: [0, 99], g: [0, 100] }),
      {},
      ['g ejected'],
    ],
    [
      'also among fewer if so configured',
      rows({ ...good, e: [0, 99] }),
      { requestVolume: 99 },
      ['e ejected'],
    ],
    ['none without candidates', [], { minimumHosts: 0 }, []],
    [
      'none without calls, even if none are required',
      rows({ ...good, e: [0, 0] }),
      { minimumHosts: 0, requestVolume: 0 },
      [],
    ],
    [
      'none of the same rate, in spite of rounding',
      rows({ a: [1, 9], b: [1, 9], c: [1, 9], d: [1, 9], e: [1, 9], f: [1, 9] }),
      { requestVolume: 10, stdevFactor: 0 },
      [],
    ],
    [
      'those below the mean with a factor of 0',
      rows({ a: [100, 0], b: [50, 50], c: [0, 100], d: [100, 0], e: [100, 0] }),
      { stdevFactor: 0 },
      ['b ejected', 'c ejected'],
    ],
  ])('ejects %s', (_, candidates, config, expected) => {
    expect(eject(candidates, config)).toEqual(expected);
  });

  const twoBad = rows({
    ...Object.fromEntries(Array.from({ length: 18 }, (_, i) => [`ok${i}`, [100, 0] as const])),
    x: [0, 100],
    y: [0, 100],
  });

  it.each<[string, Partial<typeof limit>, string[]]>([
    ['while below the limit', {}, ['x ejected', 'y ejected']],
    ['until the limit is reached', { maxEjectionPercent: 1 }, ['x ejected', 'y at-limit']],
    [
      'none if the limit was reached before',
      { ejectedCount: 10, maxEjectionPercent: 10 },
      ['x at-limit', 'y at-limit'],
    ],
    [
      'one more while below the limit',
      { ejectedCount: 9, maxEjectionPercent: 10 },
      ['x ejected', 'y at-limit'],
    ],
    [
      'one of two if any',
      { endpointCount: 2, maxEjectionPercent: 10 },
      ['x ejected', 'y at-limit'],
    ],
    ['none at a limit of 0', { maxEjectionPercent: 0 }, ['x at-limit', 'y at-limit']],
  ])('ejects %s', (_, within, expected) => {
    expect(eject(twoBad, {}, within)).toEqual(expected);
  });

  it('counts an endpoint that is already ejected only once', () => {
    const candidates = rows({ ...good, e: [0, 100], f: [100, 0], g: [100, 0], h: [100, 0] }, 'e');
    expect(eject(candidates, {}, { ejectedCount: 1, maxEjectionPercent: 2 })).toEqual([
      'e ejected',
    ]);
  });

  it.each([
    [0, 0, 'e not-enforced'],
    [30, 0.29, 'e ejected'],
    [30, 0.3, 'e not-enforced'],
    [100, 0.9999, 'e ejected'],
  ])('with %i %% enforcement and dice of %d', (enforcementPercentage, dice, expected) => {
    const candidates = rows({ ...good, e: [0, 100] });
    expect(eject(candidates, { enforcementPercentage }, {}, () => dice)).toEqual([expected]);
  });

  it('enforces as often as configured', () => {
    const random = seededRandom(11);
    const candidates = rows({ ...good, e: [0, 100] });
    let ejected = 0;
    for (let i = 0; i < 10_000; i++) {
      if (eject(candidates, { enforcementPercentage: 30 }, {}, random)[0] === 'e ejected')
        ejected++;
    }
    // Four standard deviations of 46.
    expect(Math.abs(ejected - 3000)).toBeLessThan(184);
  });
});

describe('failurePercentageEjections', () => {
  const eject = (
    candidates: readonly Row[],
    config: Partial<typeof failurePercentage> = {},
    within: Partial<typeof limit> = {},
    random = always,
  ) =>
    summary(
      failurePercentageEjections(
        candidates,
        { ...failurePercentage, ...config },
        { ...limit, ...within },
        random,
      ),
    );

  it.each<[string, Row[], Partial<typeof failurePercentage>, string[]]>([
    ['the one above the threshold', rows({ ...good, e: [14, 86] }), {}, ['e ejected']],
    ['none at the threshold', rows({ ...good, e: [15, 85] }), {}, []],
    [
      'all that are above',
      rows({ a: [0, 50], b: [0, 50], c: [0, 50], d: [0, 50], e: [0, 50] }),
      {},
      ['a', 'b', 'c', 'd', 'e'].map((name) => `${name} ejected`),
    ],
    ['none when too few have calls', rows({ ...good, e: [0, 49] }), {}, []],
    [
      'only of those with enough calls',
      rows({ ...good, e: [0, 50], f: [0, 49] }),
      {},
      ['e ejected'],
    ],
    [
      'any failure at a threshold of 0',
      rows({ ...good, e: [99, 1] }),
      { threshold: 0 },
      ['e ejected'],
    ],
    ['none at a threshold of 100', rows({ ...good, e: [0, 100] }), { threshold: 100 }, []],
    ['none without calls', rows({ ...good, e: [0, 0] }), { requestVolume: 0, threshold: 0 }, []],
  ])('ejects %s', (_, candidates, config, expected) => {
    expect(eject(candidates, config)).toEqual(expected);
  });

  it('respects the limit and the enforcement percentage', () => {
    const candidates = rows({ ...good, e: [0, 50], f: [0, 50], g: [0, 50] });
    const dice = [0.5, 0.1, 0.1];
    const random = () => dice.shift() ?? 0;
    expect(
      eject(candidates, { enforcementPercentage: 40 }, { maxEjectionPercent: 1 }, random),
    ).toEqual(['e not-enforced', 'f ejected', 'g at-limit']);
  });
});
