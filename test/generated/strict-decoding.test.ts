import { Cluster } from '../../src/generated/envoy/config/cluster/v3/cluster';
import { RouteConfiguration } from '../../src/generated/envoy/config/route/v3/route';

describe('the generated decoders', () => {
  it('refuse a nested message whose last field goes beyond its end', () => {
    // virtual_hosts (field 2) of 3 bytes, in which name (field 1) claims 4.
    const bytes = Uint8Array.of(0x12, 3, 0x0a, 4, 0x61, 0x62, 0x63, 0x64);
    expect(() => RouteConfiguration.decode(bytes)).toThrow('message does not end where it should');
  });

  it('refuse a tag that cannot be', () => {
    expect(() => Cluster.decode(Uint8Array.of(0x0a, 1, 0x61, 0))).toThrow('invalid tag');
    expect(() => Cluster.decode(Uint8Array.of(0x0c))).toThrow('invalid tag');
  });

  it('skip fields they do not know', () => {
    expect(Cluster.decode(Uint8Array.of(0x0a, 1, 0x61, 0xf8, 0x3f, 1)).name).toBe('a');
  });
});
