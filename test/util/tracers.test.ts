import { parseTracers } from '../../src/util/tracers';

describe('parseTracers', () => {
  it.each([
    ['', 'xds_client', false],
    ['xds_client', 'xds_client', true],
    ['xds_client', 'xds_resolver', false],
    ['dns_resolver,xds_client', 'xds_client', true],
    ['all', 'xds_client', true],
    ['all,-xds_client', 'xds_client', false],
    ['-xds_client,all', 'xds_client', false],
    ['all,-xds_client', 'xds_resolver', true],
    ['xds_client,-xds_client', 'xds_client', false],
    ['-xds_client', 'xds_resolver', false],
    ['all', 'constructor', true],
    ['', 'constructor', false],
  ])('GRPC_TRACE=%j: is %s on? %s', (list, tracer, on) => {
    expect(parseTracers(list)(tracer)).toBe(on);
  });
});
