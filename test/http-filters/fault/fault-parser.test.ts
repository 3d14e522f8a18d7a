import { parseFaultConfig } from '../../../src/http-filters/fault/fault-parser';
import { Violations } from '../../../src/util/violations';
import { encodeMessage } from '../../resources/decode-json';
import type { Json } from '../../support/xds-json';

const FAULT = 'envoy.extensions.filters.http.fault.v3.HTTPFault';

function parse(json: Json) {
  const violations = Violations.root();
  const bytes = encodeMessage(FAULT, json);
  const config = { kind: 'message', typeName: FAULT, bytes } as const;
  const parsed = parseFaultConfig(config, violations);
  return { parsed, violations: violations.all };
}

describe('a fault', () => {
  it.each<[Json, object]>([
    [{}, {}],
    [{ max_active_faults: 0 }, { maxActiveFaults: 0 }],
    [
      { delay: { fixed_delay: '1.5s', percentage: { numerator: 20 } } },
      {
        delay: {
          share: { perMillion: 200_000, unit: 10_000 },
          source: { kind: 'fixed', delayMs: 1500 },
        },
      },
    ],
    [
      {
        delay: { header_delay: {}, percentage: { numerator: 20, denominator: 'TEN_THOUSAND' } },
      },
      { delay: { share: { perMillion: 2000, unit: 100 }, source: { kind: 'header' } } },
    ],
    [
      { abort: { grpc_status: 14, percentage: { numerator: 1_000_001, denominator: 'MILLION' } } },
      {
        abort: { share: { perMillion: 1_000_000, unit: 1 }, source: { kind: 'status', code: 14 } },
      },
    ],
    [
      { abort: { grpc_status: 0 } },
      { abort: { share: { perMillion: 0, unit: 10_000 }, source: { kind: 'status', code: 0 } } },
    ],
    [
      { abort: { http_status: 503, percentage: { numerator: 100 } } },
      {
        abort: {
          share: { perMillion: 1_000_000, unit: 10_000 },
          source: { kind: 'status', code: 14 },
        },
      },
    ],
    [
      { abort: { header_abort: {} } },
      { abort: { share: { perMillion: 0, unit: 10_000 }, source: { kind: 'header' } } },
    ],
  ])('%j', (json, expected) => {
    const nothing = {
      configType: FAULT,
      delay: undefined,
      abort: undefined,
      maxActiveFaults: undefined,
    };
    expect(parse(json)).toEqual({ parsed: { ...nothing, ...expected }, violations: [] });
  });

  it.each<[Json, readonly string[]]>([
    [
      { delay: {}, abort: {} },
      [
        'delay: must have fixed_delay or header_delay',
        'abort: must have http_status, grpc_status or header_abort',
      ],
    ],
    [
      {
        delay: { fixed_delay: '-1s', percentage: { denominator: 8 } },
        abort: { grpc_status: 17, percentage: { denominator: 9 } },
      },
      [
        'delay.percentage.denominator: must be HUNDRED, TEN_THOUSAND or MILLION, not 8',
        'delay.fixed_delay.seconds: must be from 0 to 315576000000, not -1',
        'abort.percentage.denominator: must be HUNDRED, TEN_THOUSAND or MILLION, not 9',
        'abort.grpc_status: must not exceed 16, but is 17',
      ],
    ],
    [{ abort: { http_status: 199 } }, ['abort.http_status: must be from 200 to 599, not 199']],
    [{ abort: { http_status: 600 } }, ['abort.http_status: must be from 200 to 599, not 600']],
  ])('%j is refused', (json, expected) => {
    expect(parse(json).violations).toEqual(expected);
  });

  it('is rejected as a TypedStruct and as malformed bytes', () => {
    const violations = Violations.root();
    parseFaultConfig({ kind: 'json', typeName: FAULT, json: {} }, violations);
    const bytes = Uint8Array.of(0x0a, 0x09);
    parseFaultConfig({ kind: 'message', typeName: FAULT, bytes }, violations);
    expect(violations.all).toEqual([
      `must be a ${FAULT} itself, not a TypedStruct that stands for one`,
      'malformed message: premature EOF',
    ]);
  });
});
