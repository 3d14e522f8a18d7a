import { Cluster } from '../../../src/wire/generated/envoy/config/cluster/v3/cluster';
import { RouteConfiguration } from '../../../src/wire/generated/envoy/config/route/v3/route';

describe('the generated decoders', () => {
  it('refuse a nested message whose last field goes beyond its end', () => {
    // virtual_hosts (field 2) of 3 bytes, in which name (field 1) claims 4.
    const bytes = Uint8Array.of(0x12, 3, 0x0a, 4, 0x61, 0x62, 0x63, 0x64);
    expect(() => RouteConfiguration.decode(bytes)).toThrow('message does not end where it should');
  });

  it('refuse a tag that cannot be', () => {
    expect(() => Cluster.decode(Uint8Array.of(0x0a, 1, 0x61, 0))).toThrow('illegal tag');
    expect(() => Cluster.decode(Uint8Array.of(0x0c))).toThrow('wire type 4');
  });

  it('refuse a field number that cannot be, also within a message', () => {
    // virtual_hosts (field 2) of 2 bytes: field 0 with an empty text.
    const bytes = Uint8Array.of(0x12, 2, 0x02, 0);
    expect(() => RouteConfiguration.decode(bytes)).toThrow('illegal tag: field no 0');
  });

  it('refuse a group that another one ends', () => {
    expect(() => Cluster.decode(Uint8Array.of(0xfb, 0x3f, 0xf4, 0x3f))).toThrow(
      'a group does not end as it begins',
    );
  });

  it('refuse a number of more than ten bytes in a field they do not know', () => {
    const number = new Array<number>(10).fill(0x80);
    expect(() => Cluster.decode(Uint8Array.of(0xf8, 0x3f, ...number, 0))).toThrow('invalid varint');
    expect(Cluster.decode(Uint8Array.of(0xf8, 0x3f, ...number.slice(1), 0)).name).toBe('');
  });

  it('read the next message after a damaged one', () => {
    const damaged = Uint8Array.of(0x12, 5, 0x0a, 1, 0x61, 0x12, 9);
    expect(() => RouteConfiguration.decode(damaged)).toThrow('premature EOF');
    expect(RouteConfiguration.decode(new Uint8Array(0))).toEqual(RouteConfiguration.create());
  });

  it('skip fields they do not know', () => {
    expect(Cluster.decode(Uint8Array.of(0x0a, 1, 0x61, 0xf8, 0x3f, 1)).name).toBe('a');
  });
});
