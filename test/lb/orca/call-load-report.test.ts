import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { Metadata } from '../../../src/grpc-js';
import { readCallLoadReport } from '../../../src/lb/orca/call-load-report';

function trailersWith(...values: Uint8Array[]): Metadata {
  const trailers = new Metadata();
  for (const value of values) trailers.add('endpoint-load-metrics-bin', Buffer.from(value));
  return trailers;
}

function encode(fields: Partial<OrcaLoadReport>): Uint8Array {
  return OrcaLoadReport.encode(OrcaLoadReport.create(fields)).finish();
}

describe('readCallLoadReport', () => {
  it('reads the report', () => {
    const named = new Map([['queue', 3]]);
    const trailers = trailersWith(encode({ rpsFractional: 5, namedMetrics: named }));
    expect(readCallLoadReport(trailers)).toMatchObject({ rpsFractional: 5, namedMetrics: named });
  });

  it('decodes it once for all readers', () => {
    const trailers = trailersWith(encode({ rpsFractional: 5 }));
    const first = readCallLoadReport(trailers);
    expect(first).toBeDefined();
    expect(readCallLoadReport(trailers)).toBe(first);
  });

  it('finds nothing where there is no report', () => {
    expect(readCallLoadReport(new Metadata())).toBeUndefined();
  });

  it('finds nothing in what is no report, and tries only once', () => {
    const trailers = trailersWith(Uint8Array.of(0x09, 1));
    expect(readCallLoadReport(trailers)).toBeUndefined();
    trailers.set('endpoint-load-metrics-bin', Buffer.from(encode({ rpsFractional: 5 })));
    expect(readCallLoadReport(trailers)).toBeUndefined();
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['a megabyte', new Uint8Array(2 ** 20), /^it has more than 16384 bytes$/],
    ['names that are no UTF-8', Buffer.of(0x42, 3, 0x0a, 1, 0xff), /^malformed message/],
    ['a metric that is cut off', Buffer.of(0x42, 5, 0x0a), /^malformed message/],
  ])('ignores a report of %s, and says why once', (_case, bytes, reason) => {
    const trailers = trailersWith(bytes);
    const reasons: string[] = [];
    for (let i = 0; i < 2; i++) {
      expect(readCallLoadReport(trailers, (text) => reasons.push(text))).toBeUndefined();
    }
    expect(reasons).toEqual([expect.stringMatching(reason)]);
  });

  it('reads a report up to the limit', () => {
    const namedMetrics = new Map(Array.from({ length: 999 }, (_, i) => [String(i), i]));
    expect(readCallLoadReport(trailersWith(encode({ namedMetrics })))).toMatchObject({
      namedMetrics,
    });
  });

  it('takes the first of several', () => {
    const trailers = trailersWith(encode({ rpsFractional: 1 }), encode({ rpsFractional: 2 }));
    expect(readCallLoadReport(trailers)?.rpsFractional).toBe(1);
  });

  it('takes an empty report for one without values', () => {
    expect(readCallLoadReport(trailersWith(new Uint8Array()))).toEqual(OrcaLoadReport.create());
  });
});
