import type { JsonObject } from '../resources/shared/extension-parser';
import { parseContained } from '../util/contained';
import { isSame } from '../util/same-value';
import type { Violations } from '../util/violations';
import { Console } from 'node:console';
import { type Clock, systemClock } from '../util/clock';
import { checkDefinition, FUNCTION, TEXT, type MembersOf } from '../util/check-arguments';

/** A decision about a request (gRFC A59). */
export interface AuditEvent {
  /** The path of the method, such as `/pkg.Service/Method`. */
  readonly rpcMethod: string;
  /** The SPIFFE id of the client; empty if it has none. */
  readonly principal: string;
  /** The name of the authorization policy, or of the HTTP filter. */
  readonly policyName: string;
  /** The name of the rule, or of the policy in the filter, that matches the request; empty if none does. */
  readonly matchedRule: string;
  readonly authorized: boolean;
}

/** Records decisions. */
export interface AuditLogger {
  /**
   * Called with each decision that the condition selects, before the request is passed on or denied. It must not block. An exception
   * is logged, and changes no decision.
   */
  log(event: AuditEvent): void;
}

/** A kind of audit logger of an application. See `registerAuditLogger`. */
export interface AuditLoggerDefinition<Config> {
  /** The name in `audit_loggers` of a policy file, and after the last `/` of the type URL in a TypedStruct of the control plane. */
  readonly name: string;
  /** Parses and validates a config. An exception rejects the policy with its message. */
  parseConfig(config: JsonObject): Config;
  /** Creates the logger of a policy that is now in use. */
  create(config: Config): AuditLogger;
}

/** The decisions to audit, and their loggers. */
export interface AuditRules {
  readonly onAllow: boolean;
  readonly onDeny: boolean;
  readonly loggers: readonly ConfiguredAuditLogger[];
}

/** A logger with its config. */
export interface ConfiguredAuditLogger {
  readonly name: string;
  create(): AuditLogger;
}

class ParsedLogger<Config> implements ConfiguredAuditLogger {
  constructor(
    private readonly definition: AuditLoggerDefinition<Config>,
    private readonly json: JsonObject,
    private readonly config: Config,
  ) {}

  get name(): string {
    return this.definition.name;
  }

  create(): AuditLogger {
    return this.definition.create(this.config);
  }

  /** Whether it is of the same definition and the same JSON. */
  equals(other: unknown): boolean {
    return (
      other instanceof ParsedLogger &&
      other.definition === this.definition &&
      isSame(this.json, other.json)
    );
  }
}

/** The decisions that each condition selects: those about requests, whatever the action of the rules is (gRFC A59). */
export const AUDIT_CONDITIONS: ReadonlyMap<
  string,
  Pick<AuditRules, 'onAllow' | 'onDeny'>
> = new Map([
  ['NONE', { onAllow: false, onDeny: false }],
  ['ON_DENY', { onAllow: false, onDeny: true }],
  ['ON_ALLOW', { onAllow: true, onDeny: false }],
  ['ON_DENY_AND_ALLOW', { onAllow: true, onDeny: true }],
]);

/** Audits nothing. */
export const noAudit: AuditRules = { onAllow: false, onDeny: false, loggers: [] };

/** Parses the config of a logger. @returns `undefined` after adding a violation. */
type ParseAuditLogger = (
  config: JsonObject,
  violations: Violations,
) => ConfiguredAuditLogger | undefined;

/** The audit loggers by name (gRFC A59). A later registration replaces an earlier one. */
export class AuditLoggerRegistry {
  private readonly parsers = new Map<string, ParseAuditLogger>();

  /** @param parent Has those that are not registered here. */
  constructor(private readonly parent?: AuditLoggerRegistry) {}

  register<Config>(definition: AuditLoggerDefinition<Config>): void {
    const { name } = definition;
    this.parsers.set(name, (json, violations) => {
      const parsed = parseContained(
        () => definition.parseConfig(json),
        violations,
        'the audit logger',
      );
      return parsed && new ParsedLogger(definition, json, parsed.value);
    });
  }

  /** Returns what parses the config of a logger; `undefined` if none is registered. */
  find(name: string): ParseAuditLogger | undefined {
    return this.parsers.get(name) ?? this.parent?.find(name);
  }
}

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
