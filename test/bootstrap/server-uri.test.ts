import { channelTarget } from '../../src/bootstrap/server-uri';

describe('the target of a channel to a management server', () => {
  it.each([
    ['passthrough:///xds.test:443', 'dns:///xds.test:443'],
    ['passthrough:xds.test:443', 'dns:///xds.test:443'],
    ['passthrough://authority/xds.test', 'dns:///xds.test'],
    ['PASSTHROUGH:///10.0.0.1:18000', 'ipv4:10.0.0.1:18000'],
    ['passthrough:///[::1]:18000', 'ipv6:[::1]:18000'],
    ['dns:///xds.test:443', 'dns:///xds.test:443'],
    ['xds.test:443', 'xds.test:443'],
    ['unix:///run/xds.sock', 'unix:///run/xds.sock'],
  ])('of %s is %s', (serverUri, target) => {
    expect(channelTarget(serverUri)).toBe(target);
  });
});
