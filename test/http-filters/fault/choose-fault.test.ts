import { chooseFault } from '../../../src/http-filters/fault/fault-filter';
import { FaultConfig, type FaultShare } from '../../../src/http-filters/fault/fault-parser';
import { seededRandom } from '../../support/seeded-random';
import { headersOf } from '../calls';

const HUNDRED = 10_000;
const percent = (numerator: number): FaultShare => ({
  perMillion: numerator * HUNDRED,
  unit: HUNDRED,
});
const config = (delay: FaultConfig['delay'], abort?: FaultConfig['abort']) =>
  new FaultConfig(delay, abort, undefined);
const fixedDelay = (share: FaultShare, delayMs = 20) =>
  ({ share, source: { kind: 'fixed', delayMs } }) as const;
const fixedAbort = (share: FaultShare, code = 14) =>
  ({ share, source: { kind: 'status', code } }) as const;
const byHeader = (share: FaultShare) => ({ share, source: { kind: 'header' } }) as const;

/** Returns these numbers in order, and throws after the last. */
function numbers(...given: readonly number[]) {
  const left = [...given];
  const random = () => {
    const next = left.shift();
    if (next === undefined) throw new Error('No number was expected to be drawn');
    return next;
  };
  return { random, left };
}

describe('the fault of a call', () => {
  it.each<[string, FaultConfig, readonly number[], readonly (number | undefined)[]]>([
    ['no config', config(undefined), [], []],
    ['0 %', config(fixedDelay(percent(0)), fixedAbort(percent(0))), [], []],
    ['100 %', config(fixedDelay(percent(100)), fixedAbort(percent(100))), [], [20, 14]],
    ['a number below the share', config(fixedDelay(percent(20))), [0.19999], [20]],
    ['a number at the share', config(fixedDelay(percent(20))), [0.2], []],
    [
      'one in a million',
      config(undefined, fixedAbort({ perMillion: 1, unit: 1 })),
      [0.0000009],
      [undefined, 14],
    ],
    [
      'numbers of their own: delayed and not failed',
      config(fixedDelay(percent(20)), fixedAbort(percent(5))),
      [0.1, 0.1],
      [20],
    ],
    [
      'numbers of their own: failed and not delayed',
      config(fixedDelay(percent(20)), fixedAbort(percent(5))),
      [0.9, 0.01],
      [undefined, 14],
    ],
    ['status OK', config(undefined, fixedAbort(percent(100), 0)), [], [undefined, 0]],
    ['a delay of nothing', config(fixedDelay(percent(100), 0)), [], [0]],
  ])('by config: %s', (_case, given, drawn, [delayMs, abortCode]) => {
    const { random, left } = numbers(...drawn);
    const fault = chooseFault(given, headersOf(), random);
    expect(fault).toEqual(
      delayMs === undefined && abortCode === undefined ? undefined : { delayMs, abortCode },
    );
    expect(left).toEqual([]);
  });

  const delay = 'x-envoy-fault-delay-request';
  const delayShare = 'x-envoy-fault-delay-request-percentage';
  it.each<[Record<string, string | readonly string[]>, readonly number[], number | undefined]>([
    [{}, [], undefined],
    [{ [delay]: '0' }, [0], 0],
    [{ [delay]: '1500' }, [0.49], 1500],
    [{ [delay]: '1500' }, [0.5], undefined],
    [{ [delay]: '-1' }, [], undefined],
    [{ [delay]: '1.5' }, [], undefined],
    [{ [delay]: 'soon' }, [], undefined],
    [{ [delay]: '' }, [], undefined],
    [{ [delay]: '99999999999999999999' }, [], undefined],
    [{ [delay]: ['soon', '7', '8'] }, [0], 7],
    [{ [delay]: '7', [delayShare]: '10' }, [0.0999], 7],
    [{ [delay]: '7', [delayShare]: '10' }, [0.1], undefined],
    [{ [delay]: '7', [delayShare]: '0' }, [], undefined],
    [{ [delay]: '7', [delayShare]: '90' }, [0.49], 7],
    [{ [delay]: '7', [delayShare]: '90' }, [0.5], undefined],
    [{ [delay]: '7', [delayShare]: 'all' }, [0.49], 7],
  ])('a delay of up to 50 %% by headers %j, drawing %j: %s', (headers, drawn, delayMs) => {
    const { random, left } = numbers(...drawn);
    const fault = chooseFault(config(byHeader(percent(50))), headersOf(headers), random);
    expect(fault).toEqual(delayMs === undefined ? undefined : { delayMs, abortCode: undefined });
    expect(left).toEqual([]);
  });

  const http = 'x-envoy-fault-abort-request';
  const grpc = 'x-envoy-fault-abort-grpc-request';
  const abortShare = 'x-envoy-fault-abort-request-percentage';
  it.each<[Record<string, string | readonly string[]>, number | undefined]>([
    [{}, undefined],
    [{ [http]: '404' }, 12],
    [{ [http]: '200' }, 2],
    [{ [http]: '199' }, undefined],
    [{ [http]: '600' }, undefined],
    [{ [http]: ['x', '503'] }, 14],
    [{ [grpc]: '5' }, 5],
    [{ [grpc]: '0' }, 0],
    [{ [grpc]: '17' }, undefined],
    [{ [grpc]: '5', [http]: '404' }, 5],
    [{ [grpc]: '17', [http]: '404' }, 12],
    [{ [grpc]: '5', [abortShare]: '0' }, undefined],
    [{ [grpc]: '5', [abortShare]: '1000000' }, 5],
    [{ [delay]: '5' }, undefined],
  ])('an abort of 100 %% by headers %j: %s', (headers, abortCode) => {
    const { random } = numbers();
    const fault = chooseFault(
      config(undefined, byHeader(percent(100))),
      headersOf(headers),
      random,
    );
    expect(fault).toEqual(abortCode === undefined ? undefined : { delayMs: undefined, abortCode });
  });

  it('takes the percentage of a header in the unit of the config', () => {
    const given = config(byHeader({ perMillion: 2000, unit: 100 }));
    const headers = headersOf({ [delay]: '1', [delayShare]: '10' });
    expect(chooseFault(given, headers, () => 0.000999)).toBeDefined();
    expect(chooseFault(given, headers, () => 0.001)).toBeUndefined();
  });

  it('ignores headers where the config has the values', () => {
    const headers = headersOf({ [delay]: '1', [delayShare]: '0', [grpc]: '1', [abortShare]: '0' });
    const given = config(fixedDelay(percent(100)), fixedAbort(percent(100)));
    expect(chooseFault(given, headers, () => 0)).toEqual({ delayMs: 20, abortCode: 14 });
  });

  it('affects about 24 % of the calls with a delay for 20 % and an abort for 5 %', () => {
    const random = seededRandom(7);
    const given = config(fixedDelay(percent(20)), fixedAbort(percent(5)));
    const calls = 100_000;
    let affected = 0;
    for (let i = 0; i < calls; i++) {
      if (chooseFault(given, headersOf(), random) !== undefined) affected++;
    }
    expect(affected / calls).toBeCloseTo(0.24, 2);
  });
});
