import { HealthStatusSet } from '../../../src/wire/generated/envoy/config/core/v3/health_check';
import { ClusterStats } from '../../../src/wire/generated/envoy/config/endpoint/v3/load_report';
import { Struct, Value } from '../../../src/wire/generated/google/protobuf/struct';
import { StringValue } from '../../../src/wire/generated/google/protobuf/wrappers';
import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { parseFieldTable } from '../../../src/wire/protobuf/field-table';
import { FieldScanner } from '../../../src/wire/protobuf/field-scanner';

describe('a codec', () => {
  it('reads a list of numbers in one block and one by one, and writes one block', () => {
    const set = HealthStatusSet.decode(Uint8Array.of(0x0a, 4, 1, 0xac, 2, 2));
    expect(set).toEqual({ statuses: [1, 300, 2] });
    expect(HealthStatusSet.decode(Uint8Array.of(8, 1, 8, 0xac, 2, 8, 2))).toEqual(set);
    expect([...HealthStatusSet.encode(set).finish()]).toEqual([0x0a, 4, 1, 0xac, 2, 2]);
    expect([...HealthStatusSet.encode({ statuses: [] }).finish()]).toEqual([]);
  });

  it('gives an entry of a map that has no message as its value an empty one, as other implementations do', () => {
    // An entry with the key "a" only, and one with an empty message as well.
    const bytes = Uint8Array.of(0x0a, 3, 0x0a, 1, 0x61, 0x0a, 5, 0x0a, 1, 0x62, 0x12, 0);
    expect([...Struct.decode(bytes).fields]).toEqual([
      ['a', { kind: undefined }],
      ['b', { kind: undefined }],
    ]);
  });

  it('gives a number without a value in an entry its default', () => {
    const report = OrcaLoadReport.decode(Uint8Array.of(0x22, 3, 0x0a, 1, 0x61));
    expect([...report.requestCost]).toEqual([['a', 0]]);
  });

  it('uses the last member of a oneof, and the last of several values', () => {
    expect(Value.decode(Uint8Array.of(0x1a, 1, 0x61, 0x20, 1))).toEqual({
      kind: { $case: 'boolValue', value: true },
    });
    expect(StringValue.decode(Uint8Array.of(0x0a, 1, 0x61, 0x0a, 1, 0x62))).toEqual({ value: 'b' });
  });

  it.each([
    ['2^63', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]],
    ['2^32', [0x80, 0x80, 0x80, 0x80, 0x10]],
    ['2^31', [0x80, 0x80, 0x80, 0x80, 0x08]],
    ['more than there is', [0x02]],
  ])('refuses a length of %s, of a field that is not known, too', (_case, length) => {
    for (const tag of [[0xc2, 0x3e], [0x0a]]) {
      const bytes = Uint8Array.of(...tag, ...length, 0x00);
      expect(() => StringValue.decode(bytes)).toThrow(RangeError);
      const scanner = new FieldScanner(bytes);
      expect(() => scanner.next()).toThrow('premature EOF');
    }
  });

  it('reads a length of more bytes than it needs', () => {
    const bytes = Uint8Array.of(0x0a, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 0x61);
    expect(StringValue.decode(bytes)).toEqual({ value: 'a' });
  });

  it('creates messages that share no list or map with one another', () => {
    const one = ClusterStats.create();
    one.droppedRequests.push({ category: 'a', droppedCount: 1n });
    expect(ClusterStats.create().droppedRequests).toEqual([]);
    expect(ClusterStats.decode(new Uint8Array(0)).droppedRequests).toEqual([]);
  });

  it('refuses to write an integer of more than 64 bits', () => {
    const stats = ClusterStats.create({ totalDroppedRequests: 2n ** 64n });
    expect(() => ClusterStats.encode(stats)).toThrow(
      'value provided for field message.totalDroppedRequests of type uint64 too large',
    );
  });
});

describe('a table of fields', () => {
  it('is refused when it names a type that does not exist', () => {
    expect(() => parseFieldTable('name text 1', [])).toThrow('unknown type text');
    expect(() => parseFieldTable('name string! 1', [])).toThrow('unknown type string!');
  });
});
