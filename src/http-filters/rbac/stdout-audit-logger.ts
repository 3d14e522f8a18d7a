import { Console } from 'node:console';
import type { Clock } from '../../util/clock';
import type { AuditEvent, AuditLogger, AuditLoggerDefinition } from './audit-logger';

/** The name of the logger in policies. */
export const STDOUT_LOGGER = 'stdout_logger';

/**
 * Creates the audit logger that writes each decision to the standard output as one line of JSON (gRFC A59). It has no config; fields of
 * one are ignored, as in other implementations.
 *
 * @param write Default: the standard output.
 */
export function createStdoutAuditLogger(
  clock: Pick<Clock, 'now'>,
  write: (line: string) => void = writeLine,
): AuditLoggerDefinition<undefined> {
  const logger: AuditLogger = { log: (event) => write(formatAuditEvent(event, clock.now())) };
  return { name: STDOUT_LOGGER, parseConfig: () => undefined, create: () => logger };
}

/** Formats a decision. @param atMs Milliseconds since the epoch. */
function formatAuditEvent(event: AuditEvent, atMs: number): string {
  return JSON.stringify({
    grpc_audit_log: {
      // The form has nanoseconds; the clock has milliseconds.
      timestamp: new Date(atMs).toISOString().replace('Z', '000000Z'),
      rpc_method: event.rpcMethod,
      principal: event.principal,
      policy_name: event.policyName,
      matched_rule: event.matchedRule,
      authorized: event.authorized,
    },
  });
}

let output: Console | undefined;

/** A console does not fail where the output is a pipe that was closed: its errors are dropped. */
function writeLine(line: string): void {
  output ??= new Console({ stdout: process.stdout, ignoreErrors: true });
  output.log(line);
}
