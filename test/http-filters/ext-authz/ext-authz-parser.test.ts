import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { createExtAuthzFilter } from '../../../src/http-filters/ext-authz/ext-authz-filter';
import { ExtAuthzConfig, EXT_AUTHZ } from '../../../src/http-filters/ext-authz/ext-authz-parser';
import { SideChannels } from '../../../src/http-filters/grpc-service/side-channels';
import { HttpFilterRegistry } from '../../../src/http-filters/registry';
import { routerFilter } from '../../../src/http-filters/router/router-filter';
import { MatchMeter } from '../../../src/resources/matching/match-meter';
import { Re2Compiler } from '../../../src/resources/matching/re2-compiler';
import { systemClock } from '../../../src/util/clock';
import { silentLogger } from '../../../src/util/logger';
import { err } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { encodeMessage, serverWith } from '../../resources/decode-json';
import { extAuthzJson } from '../../support/authorization-server';
import type { Json } from '../../support/xds-json';

const registry = new HttpFilterRegistry([
  createExtAuthzFilter({
    clock: systemClock,
    random: Math.random,
    regexes: new Re2Compiler(DEFAULT_LIMITS),
    channels: new SideChannels(() => err('none'), systemClock),
    meter: new MatchMeter(DEFAULT_LIMITS, silentLogger),
    logger: silentLogger,
  }),
  routerFilter,
]);

/** Without the type, which only an Any has. */
const fieldsOf = (json: Json): Json =>
  Object.fromEntries(Object.entries(json).filter(([name]) => name !== '@type'));

function parse(json: Json, server = serverWith('trusted_xds_server')) {
  const violations = Violations.root();
  const typed = { typeUrl: `x/${EXT_AUTHZ}`, value: encodeMessage(EXT_AUTHZ, fieldsOf(json)) };
  const config = registry.parseConfig(typed, violations, server);
  const isValid = violations.count === 0 && config instanceof ExtAuthzConfig;
  return isValid ? config.settings : violations.all;
}

const percent = (numerator: number, denominator = 'HUNDRED') => ({
  default_value: { numerator, denominator },
});

describe('an ExtAuthz', () => {
  it('has defaults', () => {
    expect(parse(extAuthzJson('dns:///a:1'))).toMatchObject({
      service: { target: 'dns:///a:1' },
      perMillion: 1_000_000,
      denyAtDisable: false,
      failureModeAllow: false,
      failureModeAllowHeaderAdd: false,
      codeOnError: 7,
      allowedHeaders: [],
      disallowedHeaders: [],
      rules: { disallowAll: false, disallowIsError: false },
    });
  });

  it.each<[Json, object]>([
    [{ filter_enabled: percent(150) }, { perMillion: 1_000_000 }],
    [{ filter_enabled: percent(5, 'TEN_THOUSAND') }, { perMillion: 500 }],
    [{ deny_at_disable: { default_value: true } }, { denyAtDisable: true }],
    [{ failure_mode_allow: true }, { failureModeAllow: true }],
    [{ failure_mode_allow_header_add: true }, { failureModeAllowHeaderAdd: true }],
    [{ status_on_error: { code: 'ServiceUnavailable' } }, { codeOnError: 14 }],
    [{ status_on_error: { code: 418 } }, { codeOnError: 2 }],
    [
      { allowed_headers: { patterns: [{ prefix: 'a' }] } },
      { allowedHeaders: [{ kind: 'prefix', text: 'a', ignoreCase: false }] },
    ],
    [
      { decoder_header_mutation_rules: { disallow_all: true, disallow_is_error: true } },
      { rules: { disallowAll: true, disallowIsError: true } },
    ],
    [
      { decoder_header_mutation_rules: { allow_expression: { regex: 'a' } } },
      { rules: { allow: { pattern: 'a' } } },
    ],
  ])('with %j', (extra, expected) => {
    expect(parse(extAuthzJson('dns:///a:1', extra))).toMatchObject(expected);
  });

  it.each<[Json, string]>([
    [{ grpc_service: undefined }, 'grpc_service: field not present'],
    [{ filter_enabled: {} }, 'filter_enabled.default_value: field not present'],
    [{ deny_at_disable: {} }, 'deny_at_disable.default_value: field not present'],
    [
      { disallowed_headers: { patterns: [{}] } },
      'disallowed_headers.patterns[0]: must have exact, prefix, suffix, contains or safe_regex',
    ],
    [
      { decoder_header_mutation_rules: { disallow_expression: { regex: '(' } } },
      'decoder_header_mutation_rules.disallow_expression.regex: must be an RE2 expression: missing closing ): `(`',
    ],
  ])('is rejected with %j', (extra, reason) => {
    expect(parse(extAuthzJson('dns:///a:1', extra))).toEqual([reason]);
  });

  it('is rejected from a server that is not trusted, unless the bootstrap allows its target', () => {
    const json = extAuthzJson('dns:///a:1');
    expect(parse(json, serverWith())).toEqual([
      'grpc_service.google_grpc.target_uri: "dns:///a:1" must be in allowed_grpc_services of the bootstrap, or the management ' +
        'server must have the feature trusted_xds_server',
    ]);
    const allowed = { channelCreds: { type: 'tls', config: undefined }, callCreds: [] };
    const server = { ...serverWith(), allowedServices: new Map([['dns:///a:1', allowed]]) };
    expect(parse(json, server)).toMatchObject({ service: allowed });
  });

  it('has overrides of which no field is read', () => {
    const typeName = `${EXT_AUTHZ}PerRoute`;
    const value = encodeMessage(typeName, { check_settings: {} });
    const override = registry.parseOverride({ typeUrl: `x/${typeName}`, value }, Violations.root());
    expect(override).toEqual({ configType: typeName });
  });

  it('shows no secret where the configuration is shown', () => {
    const violations = Violations.root();
    const json = extAuthzJson(
      'dns:///a:1',
      {},
      {
        initial_metadata: [{ key: 'a', value: 'hidden' }],
      },
    );
    const typed = { typeUrl: `x/${EXT_AUTHZ}`, value: encodeMessage(EXT_AUTHZ, fieldsOf(json)) };
    const config = registry.parseConfig(typed, violations, serverWith('trusted_xds_server'));
    if (config === undefined) throw new Error(violations.all.join());
    const shown = JSON.stringify(registry.prepare(config, undefined)?.describe());
    expect(shown).toContain('dns:///a:1');
    expect(shown).not.toContain('hidden');
  });
});
