import { checkDefinition, FUNCTION, TEXT, type MembersOf } from '../../util/check-arguments';
import { systemClock } from '../../util/clock';
import { AuditLoggerRegistry, type AuditLoggerDefinition } from './audit-logger';
import { createStdoutAuditLogger } from './stdout-audit-logger';

/** The audit loggers of this process: `stdout_logger`, and those of the application. */
export const processAuditLoggers = new AuditLoggerRegistry();
processAuditLoggers.register(createStdoutAuditLogger(systemClock));

/** The members of a definition. */
export const AUDIT_LOGGER: MembersOf<AuditLoggerDefinition<unknown>> = {
  name: TEXT,
  parseConfig: FUNCTION,
  create: FUNCTION,
};

/**
 * Registers a kind of audit logger for the authorization of servers (gRFC A59): for `audit_loggers` of policy files, and for the RBAC
 * filters of the control plane, which name it in a TypedStruct. Call it before the first server or policy that names it: one that names
 * an unknown logger is rejected, unless the logger is optional.
 *
 * A logger replaces an earlier one of the same name, also `stdout_logger`, for policies that are read from then on.
 *
 * @throws XdsError if the definition lacks a member, or has an unknown one.
 *
 * @example
 * ```ts
 * import { registerAuditLogger } from 'grpc-xds/server';
 *
 * registerAuditLogger({
 *   name: 'acme.v1.DeniedCounter',
 *   parseConfig: () => undefined,
 *   create: () => ({ log: ({ rpcMethod, authorized }) => console.log(rpcMethod, authorized) }),
 * });
 * ```
 */
export function registerAuditLogger<Config>(definition: AuditLoggerDefinition<Config>): void {
  checkDefinition('registerAuditLogger()', definition, AUDIT_LOGGER);
  processAuditLoggers.register(definition);
}
