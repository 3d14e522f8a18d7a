import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import { serverListenerName } from '../../src/bootstrap/server-listener-name';

function nameOf(template: unknown, address: string, port = 8080): string {
  const parsed = parseBootstrap(
    {
      xds_servers: [{ server_uri: 'x', channel_creds: [{ type: 'insecure' }] }],
      server_listener_resource_name_template: template,
    },
    '/etc/x.json',
    {
      channelCreds: new Set(['insecure']),
      callCreds: new Set<string>(),
      certificateProviders: new Set<string>(),
    },
  );
  if (!parsed.ok) throw new Error(parsed.error.join('; '));
  const name = serverListenerName(parsed.value, address, port);
  return name.ok ? name.value : `error: ${name.error}`;
}

describe('the name of the Listener of an address of a server (gRFCs A36, A47)', () => {
  it.each([
    ['an IPv4 address', 'in/%s', '10.0.0.1', 'in/10.0.0.1:8080'],
    ['an IPv6 address', 'in/%s', '2001:db8::1', 'in/[2001:db8::1]:8080'],
    ['the IPv4 wildcard', 'in/%s', '0.0.0.0', 'in/0.0.0.0:8080'],
    ['the IPv6 wildcard', 'in/%s', '::', 'in/[::]:8080'],
    ['the IPv6 wildcard in a long form', 'in/%s', '0:0:0:0:0:0:0:0', 'in/[::]:8080'],
    ['an IPv6 address in capitals', 'in/%s', '2001:DB8:0:0::A', 'in/[2001:db8::a]:8080'],
    ['an IPv4-mapped address', 'in/%s', '::ffff:10.0.0.1', 'in/[::ffff:10.0.0.1]:8080'],
    ['an address with a zone', 'in/%s', 'fe80::1%eth0', 'in/[fe80::1%eth0]:8080'],
    ['every place', '%s/%s?a=%s', '::1', '[::1]:8080/[::1]:8080?a=[::1]:8080'],
    ['no place', 'one', '10.0.0.1', 'one'],
    ['other signs of replacement', '%d$&<%s>%%s', '10.0.0.1', '%d$&<10.0.0.1:8080>%10.0.0.1:8080'],
    [
      'an xdstp template, encoded as a path',
      'xdstp://a.test/envoy.config.listener.v3.Listener/in/%s',
      '::1',
      'xdstp://a.test/envoy.config.listener.v3.Listener/in/%5B::1%5D:8080',
    ],
    [
      'the parameter of an xdstp template',
      'xdstp://a.test/envoy.config.listener.v3.Listener/in?address=%s',
      '10.0.0.1',
      'xdstp://a.test/envoy.config.listener.v3.Listener/in?address=10.0.0.1:8080',
    ],
  ])('has %s', (_what, template, address, name) => {
    expect(nameOf(template, address)).toBe(name);
  });

  it.each([undefined, null])('has no default: %s', (template) => {
    expect(nameOf(template, '10.0.0.1')).toBe(
      'error: the bootstrap /etc/x.json has no server_listener_resource_name_template, by which the Listener of an xDS ' +
        'server is named: add it, such as "xds.istio.io/grpc/lds/inbound/%s" for Istio',
    );
  });

  it.each<[unknown, string]>([
    ['', 'must not be empty'],
    [7, 'must be a string'],
  ])('makes the bootstrap invalid if it is %j', (template, problem) => {
    expect(() => nameOf(template, '10.0.0.1')).toThrow(
      `server_listener_resource_name_template: ${problem}`,
    );
  });
});
