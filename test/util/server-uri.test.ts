import { channelTarget, checkServerUri } from '../../src/util/server-uri';

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

describe('a server_uri', () => {
  it.each([
    'xds.test',
    'xds.test:443',
    '10.0.0.1:65535',
    '[::1]:1',
    '::1',
    'dns:xds.test',
    'dns://8.8.8.8/xds.test:443',
    'ipv4:10.0.0.1:80,10.0.0.2:81',
    'ipv6:[::1]:80',
    'ipv6:::1',
    'passthrough:///[::1]:18000',
    'unix:///run/my agent/XDS',
    'unix-abstract:xds:99999',
    'consul:///xds:service',
  ])('may be %s', (serverUri) => {
    expect(checkServerUri(serverUri)).toEqual({ ok: true, value: 'grpc' });
  });

  it.each([
    ['127.0.0.1:99999', 'must have a port from 1 to 65535, not "99999"'],
    ['xds.test:0', 'must have a port from 1 to 65535, not "0"'],
    ['[::1]:65536', 'must have a port from 1 to 65535, not "65536"'],
    ['dns:///xds.test:443000', 'must have a port from 1 to 65535, not "443000"'],
    ['dns:xds.test:https', 'must have a port from 1 to 65535, not "https"'],
    ['dns:xds.test:', 'must have a port from 1 to 65535, not ""'],
    ['ipv4:10.0.0.1:80,10.0.0.2:70000', 'must have a port from 1 to 65535, not "70000"'],
    ['ipv6:[::1]:70000', 'must have a port from 1 to 65535, not "70000"'],
    ['passthrough:///a:70000', 'must have a port from 1 to 65535, not "70000"'],
    ['dns:///', 'must have an address'],
    ['dns://xds.test:443', 'must have three slashes: "dns:///xds.test:443"'],
    ['18000', 'must have a host and a port, such as "localhost:18000"'],
    [':18000', 'must have a host and a port, such as "localhost:18000"'],
    ['/etc/resources.yaml', 'must be "file://" and an absolute path, for a file'],
    ['./resources.yaml', 'must be "file://" and an absolute path, for a file'],
    ['a b', 'must not have spaces'],
    ['dns:///a b:1', 'must not have spaces'],
    ['a\nb:1', 'must not have control characters'],
    ['http://a\nb', 'must not have control characters'],
    ['unix:///run/a\nb', 'must not have control characters'],
  ])('must not be %j', (serverUri, error) => {
    expect(checkServerUri(serverUri)).toEqual({ ok: false, error });
  });
});
