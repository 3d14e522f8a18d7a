import {
  RBAC_AuditLoggingOptions_AuditCondition as AuditCondition,
  type RBAC_AuditLoggingOptions as OptionsMessage,
  type RBAC_AuditLoggingOptions_AuditLoggerConfig as LoggerMessage,
} from '../../wire/generated/envoy/config/rbac/v3/rbac';
import { StdoutAuditLog } from '../../wire/generated/envoy/extensions/rbac/audit_loggers/stream/v3/stream';
import { decodeMessage, enumName } from '../../resources/shared/any';
import { readExtension } from '../../resources/shared/extension-parser';
import type { Violations } from '../../util/violations';
import {
  noAudit,
  type AuditLoggerRegistry,
  type AuditRules,
  type ConfiguredAuditLogger,
} from './audit-logger';
import { STDOUT_LOGGER } from './stdout-audit-logger';

const STDOUT_AUDIT_LOG = 'envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog';

/** The decisions that each condition selects: those about requests, whatever the action of the rules is. */
const conditions: ReadonlyMap<AuditCondition, Pick<AuditRules, 'onAllow' | 'onDeny'>> = new Map([
  [AuditCondition.NONE, { onAllow: false, onDeny: false }],
  [AuditCondition.ON_DENY, { onAllow: false, onDeny: true }],
  [AuditCondition.ON_ALLOW, { onAllow: true, onDeny: false }],
  [AuditCondition.ON_DENY_AND_ALLOW, { onAllow: true, onDeny: true }],
]);

/** Parses which decisions are audited (gRFC A59). What has a violation is left out. */
export function parseAuditRules(
  options: OptionsMessage | undefined,
  registry: AuditLoggerRegistry,
  violations: Violations,
): AuditRules {
  if (options === undefined) return noAudit;
  const { auditCondition, loggerConfigs } = options;
  const selected = conditions.get(auditCondition);
  if (selected === undefined) {
    const found = enumName(AuditCondition, auditCondition);
    violations
      .at('audit_condition')
      .add(`must be NONE, ON_DENY, ON_ALLOW or ON_DENY_AND_ALLOW, but is ${found}`);
  }
  const loggers: ConfiguredAuditLogger[] = [];
  for (const [i, config] of loggerConfigs.entries()) {
    const logger = parseLogger(config, registry, violations.at('logger_configs').index(i));
    if (logger !== undefined) loggers.push(logger);
  }
  return { ...noAudit, ...selected, loggers };
}

/** @returns `undefined` for an optional one of an unknown type, and after adding a violation. */
function parseLogger(
  { auditLogger, isOptional }: LoggerMessage,
  registry: AuditLoggerRegistry,
  violations: Violations,
): ConfiguredAuditLogger | undefined {
  const at = violations.at('audit_logger').at('typed_config');
  const extension = readExtension(auditLogger?.typedConfig, at);
  if (extension === undefined) return undefined;
  const { kind, typeName } = extension;
  if (kind === 'message' && typeName === STDOUT_AUDIT_LOG) {
    return (
      decodeMessage(StdoutAuditLog, extension.bytes, at) && registry.parse(STDOUT_LOGGER, {}, at)
    );
  }
  if (kind === 'json' && registry.has(typeName)) {
    return registry.parse(typeName, extension.json, at);
  }
  return isOptional ? undefined : at.add(`unsupported audit logger ${typeName}`);
}
