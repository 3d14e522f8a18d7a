// Listeners of servers whose filters change: authorization, audits, overrides; and those that istiod sends.
import { readdirSync, readFileSync } from 'node:fs';
import { typed } from '../harness/resources.mjs';
import { addressOf, filters, hcm, httpFilter, router, routesWith } from './server-listener.mjs';

const RBAC = 'envoy.extensions.filters.http.rbac.v3.RBAC';
const PER_ROUTE = 'envoy.extensions.filters.http.rbac.v3.RBACPerRoute';
const ANY = { any: true };

const rbac = (config, rest) => httpFilter('rbac', RBAC, config, rest);
const policy = (changes = {}) => ({ permissions: [ANY], principals: [ANY], ...changes });
const rules = (changes = {}) => ({ rules: { policies: { p: policy() }, ...changes } });
const withRules = (changes) => filters(rbac(rules(changes)));
const withPolicy = (changes) => withRules({ policies: { p: policy(changes) } });
const permission = (rule) => withPolicy({ permissions: [rule] });
const principal = (id) => withPolicy({ principals: [id] });
const header = (matcher) => permission({ header: matcher });

const authorization = {
  'no rules': filters(rbac({})),
  allow: withRules(),
  deny: withRules({ action: 'DENY' }),
  log: withRules({ action: 'LOG' }),
  'an unknown action': withRules({ action: 7 }),
  'no policy': withRules({ policies: {} }),
  'two filters': filters(rbac(rules()), { ...rbac(rules({ action: 'DENY' })), name: 'second' }),
  'shadow rules that are wrong': filters(rbac({ ...rules(), shadow_rules: { action: 7 } })),
  'a matcher tree': filters(rbac({ matcher: { on_no_match: {} } })),
  'a condition': withPolicy({ condition: {} }),
  'a checked condition': withPolicy({ checked_condition: {} }),
  'no permission': withPolicy({ permissions: [] }),
  'no principal': withPolicy({ principals: [] }),
  'an empty and': permission({ and_rules: {} }),
  'an empty or': principal({ or_ids: {} }),
  'a permission without a rule': permission({}),
  'a principal without an identifier': principal({}),
  'any: false': permission({ any: false }),
  'the negation of an unknown permission': permission({
    not_rule: { uri_template: { name: 'x', typed_config: typed('interop.test.Unknown') } },
  }),
  'a matcher as a permission': permission({
    matcher: { name: 'x', typed_config: typed('interop.test.Unknown') },
  }),
  'the state of a filter': principal({ filter_state: { key: 'x', string_match: { exact: 'y' } } }),
  'the negation of the state of a filter': principal({
    not_id: { filter_state: { key: 'x', string_match: { exact: 'y' } } },
  }),
  metadata: permission({ metadata: { filter: 'x' } }),
  'a requested server name': permission({ requested_server_name: { exact: 'x' } }),
  'a range of ports': permission({ destination_port_range: { start: 80, end: 90 } }),
  'a range of ports, backwards': permission({ destination_port_range: { start: 90, end: 80 } }),
  'port 65536': permission({ destination_port: 65_536 }),
  'an address that is none': principal({ direct_remote_ip: { address_prefix: 'shop' } }),
  'a length beyond the address': principal({
    remote_ip: { address_prefix: '10.0.0.1', prefix_len: 33 },
  }),
  authenticated: principal({ authenticated: {} }),
  'authenticated by an empty name': principal({ authenticated: { principal_name: {} } }),
  'a path without a pattern': permission({ url_path: {} }),
  'a path by an expression that is none': permission({
    url_path: { path: { safe_regex: { regex: '(' } } },
  }),
  'a header': header({ name: 'x', exact_match: 'y' }),
  'a header of gRPC': header({ name: 'grpc-timeout', present_match: true }),
  'a header of gRPC in capitals': header({ name: 'GRPC-Timeout', present_match: true }),
  'a header of gRPC, negated twice': permission({
    not_rule: { not_rule: { header: { name: 'grpc-x', present_match: true } } },
  }),
  'the scheme': header({ name: ':scheme', exact_match: 'https' }),
  'the authority': header({ name: ':authority', exact_match: 'shop' }),
  'a header without a name': header({ present_match: true }),
  'a header without a match': header({ name: 'x' }),
  'a header with an empty prefix': header({ name: 'x', string_match: { prefix: '' } }),
  'a header with an empty expression': header({ name: 'x', safe_regex_match: { regex: '' } }),
  'a path by an empty expression': permission({
    url_path: { path: { safe_regex: { regex: '' } } },
  }),
  'authenticated by an empty expression': principal({
    authenticated: { principal_name: { safe_regex: { regex: '' } } },
  }),
  'a header in a range, backwards': header({ name: 'x', range_match: { start: 9, end: 1 } }),
  'a header of gRPC in rules that log': withRules({
    action: 'LOG',
    policies: { p: policy({ permissions: [{ header: { name: 'grpc-x', present_match: true } }] }) },
  }),
  'of another type': filters({
    name: 'rbac',
    typed_config: typed('xds.type.v3.TypedStruct', { type_url: `type.googleapis.com/${RBAC}` }),
  }),
};

const audit = (loggers, condition = 'ON_DENY') =>
  withRules({ audit_logging_options: { audit_condition: condition, logger_configs: loggers } });
const logger = (typedConfig, rest = {}) => ({
  audit_logger: { name: 'logger', ...(typedConfig && { typed_config: typedConfig }) },
  ...rest,
});
const STDOUT = 'envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog';
const unknownLogger = typed('interop.test.Unknown');
const ownLogger = typed('xds.type.v3.TypedStruct', {
  type_url: 'grpc.authz.audit_logging/unknown',
  value: {},
});

const audits = {
  'no logger': audit([]),
  stdout: audit([logger(typed(STDOUT))]),
  'stdout twice': audit([logger(typed(STDOUT)), logger(typed(STDOUT))]),
  'an unknown condition': audit([logger(typed(STDOUT))], 7),
  'an unknown logger': audit([logger(unknownLogger)]),
  'an unknown logger, optional': audit([logger(unknownLogger, { is_optional: true })]),
  'an own logger that is not registered': audit([logger(ownLogger)]),
  'an own logger that is not registered, optional': audit([
    logger(ownLogger, { is_optional: true }),
  ]),
  'a logger without a configuration': audit([logger(undefined)]),
  'a logger without a configuration, optional': audit([logger(undefined, { is_optional: true })]),
  'an empty logger': audit([{}]),
};

const FAULT = 'envoy.extensions.filters.http.fault.v3.HTTPFault';
const overrides = (config, name = 'rbac') => ({ typed_per_filter_config: { [name]: config } });
const overridden = (config, name) =>
  hcm({ ...routesWith(overrides(config, name)), http_filters: [rbac(rules()), router] });
const wrapped = (rest) => typed('envoy.config.route.v3.FilterConfig', rest);
const denying = { rbac: rules({ action: 'DENY' }) };
const wrong = { rbac: rules({ action: 7 }) };

const overriding = {
  'by rules': overridden(typed(PER_ROUTE, denying)),
  'by nothing': overridden(typed(PER_ROUTE)),
  'by wrong rules': overridden(typed(PER_ROUTE, wrong)),
  'by rules, of the virtual host': hcm(routesWith({}, overrides(typed(PER_ROUTE, denying)))),
  'by wrong rules, of the virtual host': hcm(routesWith({}, overrides(typed(PER_ROUTE, wrong)))),
  'by the type of the filter': overridden(typed(RBAC, rules())),
  'by an unknown type': overridden(typed('interop.test.UnknownFilter')),
  'by an unknown type, optional': overridden(
    wrapped({ config: typed('interop.test.UnknownFilter'), is_optional: true }),
  ),
  'by rules, wrapped': overridden(wrapped({ config: typed(PER_ROUTE, denying) })),
  'by wrong rules, wrapped and optional': overridden(
    wrapped({ config: typed(PER_ROUTE, wrong), is_optional: true }),
  ),
  'by a wrapper without a configuration': overridden(wrapped({})),
  'switched off': overridden(wrapped({ disabled: true })),
  'of a filter that is not there': overridden(typed(PER_ROUTE, denying), 'other'),
  'of faults, which are for clients': overridden(typed(FAULT), 'fault'),
  'of a filter without a name': overridden(typed(PER_ROUTE, denying), ''),
};

const FIXTURES = new URL('../../test/fixtures/istiod/', import.meta.url);

/** The fixtures have messages such as `BoolValue` as objects, and a `type_url` where a type was not known. */
const plainJson = (_key, value) => {
  if (typeof value !== 'object' || value === null) return value;
  if ('type_url' in value) return router.typed_config;
  return 'value' in value && Object.keys(value).length === 1 ? value.value : value;
};

/** What istiod sends, for the server that is asked. */
const fromIstiod = (file) => (server) => {
  const [listener] = JSON.parse(readFileSync(new URL(file, FIXTURES), 'utf8'), plainJson);
  delete listener['@type'];
  return { ...listener, name: server.name, address: addressOf(server) };
};

const istiod = Object.fromEntries(
  readdirSync(FIXTURES)
    .filter((file) => /^inbound-.*\.json$/.test(file))
    .map((file) => [file.slice('inbound-'.length, -'.json'.length), fromIstiod(file)]),
);

export const serverFilterVariants = { authorization, audits, overriding, istiod };
