import { CredentialsRegistry } from '../../../src/security/credentials/credentials-registry';
import { builtInChannelCredentials } from '../../../src/security/credentials/management-credentials';
import type { CredentialsType } from '../../../src/security/credentials/credentials-registry';
import { parseBootstrap } from '../../../src/bootstrap/bootstrap-parser';
import { credentials, type ChannelCredentials } from '../../../src/grpc-js';
import { err, ok } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';

const builtIn = () => new CredentialsRegistry('channel', builtInChannelCredentials());

const fussy: CredentialsType<ChannelCredentials> = {
  type: 'fussy',
  parse: (config, violations) => {
    if (config !== undefined) return () => err('not today');
    violations.at('mood').add('field not present');
    return undefined;
  },
};

describe('the registry of channel credentials', () => {
  it('has the types that a bootstrap may name', () => {
    const registry = builtIn();
    expect([...registry.keys()]).toEqual(['insecure', 'google_default', 'tls']);
    expect([registry.has('tls'), registry.has('alts'), registry.has('constructor')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('creates insecure credentials with any configuration', () => {
    const registry = builtIn();
    for (const config of [undefined, {}, { a: 1 }]) {
      const created = registry.create({ type: 'insecure', config });
      expect(created.ok && created.value._isSecure()).toBe(false);
      expect(created.ok).toBe(true);
    }
  });

  it('returns an error for credentials that cannot be created', () => {
    const registry = new CredentialsRegistry('channel', [fussy]);
    expect(registry.create({ type: 'alts', config: undefined })).toEqual({
      ok: false,
      error: 'there are no channel credentials of type "alts"',
    });
    expect(registry.create({ type: 'fussy', config: undefined })).toEqual({
      ok: false,
      error: 'channel credentials of type "fussy": mood: field not present',
    });
    expect(registry.create({ type: 'fussy', config: {} })).toEqual({
      ok: false,
      error: 'channel credentials of type "fussy": not today',
    });
  });

  it('validates a configuration without creating credentials', () => {
    const registry = new CredentialsRegistry('channel', [fussy]);
    const violations = Violations.root();
    registry.check({ type: 'fussy', config: undefined }, violations);
    registry.check({ type: 'fussy', config: {} }, violations);
    registry.check({ type: 'alts', config: {} }, violations);
    expect(violations.all).toEqual(['mood: field not present']);
  });

  it('replaces a type by a later one of the same name', () => {
    const registry = new CredentialsRegistry('channel', [fussy]);
    const mine = credentials.createSsl();
    registry.register({ type: 'fussy', parse: () => () => ok(mine) });
    expect(registry.create({ type: 'fussy', config: undefined })).toEqual(ok(mine));
  });

  it('adds all violations of the configuration of credentials to those of the bootstrap', () => {
    const parsed = parseBootstrap(
      {
        xds_servers: [
          {
            server_uri: 'x',
            channel_creds: [
              { type: 'unheard_of' },
              {
                type: 'tls',
                config: { ca_certificate_file: 7, private_key_file: '/k', refresh_interval: 5 },
              },
            ],
          },
        ],
      },
      'test',
      {
        channelCreds: builtIn(),
        callCreds: new Set<string>(),
        certificateProviders: new Set<string>(),
      },
    );
    expect(parsed).toEqual({
      ok: false,
      error: [
        'xds_servers[0].channel_creds[1].config.ca_certificate_file: must be a string',
        'xds_servers[0].channel_creds[1].config.certificate_file: field not present',
        'xds_servers[0].channel_creds[1].config.refresh_interval: must be a duration above zero, such as "600s"',
      ],
    });
  });
});
