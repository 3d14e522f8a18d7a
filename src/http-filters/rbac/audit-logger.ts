import type { JsonObject } from '../../resources/shared/extension-parser';
import { parseContained } from '../../util/contained';
import { isSame } from '../../util/same-value';
import type { Violations } from '../../util/violations';

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
  /**
   * Names it in `audit_loggers` of a policy file, and in a TypedStruct of the control plane: there it is what follows the last `/` of
   * the type URL.
   */
  readonly name: string;
  /** Parses and validates a config. An exception rejects the policy with its message. */
  parseConfig(config: JsonObject): Config;
  /** Creates the logger of a policy that is now in use. */
  create(config: Config): AuditLogger;
}

/** Which decisions are audited, and by what. */
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

/** Audits nothing. */
export const noAudit: AuditRules = { onAllow: false, onDeny: false, loggers: [] };

/** The audit loggers by name (gRFC A59). A later registration replaces an earlier one. */
export class AuditLoggerRegistry {
  private readonly parsers = new Map<
    string,
    (config: JsonObject, violations: Violations) => ConfiguredAuditLogger | undefined
  >();

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

  has(name: string): boolean {
    return this.parsers.has(name) || this.parent?.has(name) === true;
  }

  /** Parses the config of a logger for which {@link has} holds. @returns `undefined` after adding a violation. */
  parse(
    name: string,
    config: JsonObject,
    violations: Violations,
  ): ConfiguredAuditLogger | undefined {
    const parser = this.parsers.get(name);
    if (parser !== undefined) return parser(config, violations);
    return this.parent === undefined
      ? violations.add(`unsupported audit logger ${name}`)
      : this.parent.parse(name, config, violations);
  }
}
