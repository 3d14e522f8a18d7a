import { Status } from '../../grpc-js';
import type { RegexCompilers } from '../../resources/extension-points';
import type { MatchMeter } from '../../resources/matching/match-meter';
import { late } from '../../util/late';
import type { Logger } from '../../util/logger';
import { asConfig } from '../http-filter';
import type {
  FilterExplanation,
  Refusal,
  RefusingFilter,
  ServerFilter,
  ServerHttpFilter,
} from '../server-filter';
import type { AuditLoggerRegistry } from '../../authorization/audit-logger';
import {
  AuthorizationEngine,
  DENIED,
  describeDenial,
  type AuthorizationEngineOptions,
  type Decision,
} from '../../authorization/authorization-engine';
import type * as Explaining from '../../authorization/explain-rules';
import { parseRbacConfig, parseRbacOverride, RBAC_FILTER, RBAC_PER_ROUTE } from './rbac-parser';
import type { AuthorizationRequest } from '../../authorization/request';
import { RbacConfig } from '../../authorization/rules';

/** Loaded for the first explanation. */
const loadExplaining = late<typeof Explaining>(() => require('../../authorization/explain-rules'));

export interface RbacFilterOptions {
  readonly regexes: RegexCompilers;
  /** Counts the steps of matching a request, those of the expressions of `regexes` included. */
  readonly meter: MatchMeter;
  readonly auditLoggers: AuditLoggerRegistry;
  readonly logger: Logger;
}

/** Creates the RBAC filter of servers (gRFCs A41, A59). */
export function createRbacFilter(options: RbacFilterOptions): ServerHttpFilter {
  const { regexes, auditLoggers } = options;
  const context = () => ({ regexes: regexes.forResource(), auditLoggers });
  return {
    configTypes: [RBAC_FILTER],
    overrideTypes: [RBAC_PER_ROUTE],
    isTerminal: false,
    parseConfig: (config, violations) => parseRbacConfig(config, context(), violations),
    parseOverride: (config, violations) => parseRbacOverride(config, context(), violations),
    createServerFilter(config, override, name) {
      const { rules } = asConfig(RbacConfig, override ?? config);
      return rules && new RbacServerFilter({ ...options, rules, name });
    },
  };
}

/** Judges requests by one set of rules. */
export class RbacServerFilter implements ServerFilter {
  private readonly engine: AuthorizationEngine;
  private readonly self: RefusingFilter;

  constructor(private readonly options: AuthorizationEngineOptions) {
    this.self = { filter: options.name, action: options.rules.action };
    this.engine = new AuthorizationEngine(options);
  }

  onRequest(request: AuthorizationRequest): Refusal | undefined {
    const decision = this.engine.authorize(request);
    return decision.isAllowed ? undefined : this.refuse(decision);
  }

  explain(request: AuthorizationRequest): FilterExplanation {
    const { rules, meter } = this.options;
    const decision = this.engine.decide(request);
    return {
      refusal: decision.isAllowed ? undefined : this.refuse(decision),
      action: rules.action,
      rules: loadExplaining().tryPolicies(rules, request, meter),
    };
  }

  private refuse(decision: Decision): Refusal {
    return {
      code: Status.PERMISSION_DENIED,
      details: DENIED,
      reason: `denied by ${describeDenial(decision, this.options)}`,
      policy: decision.policy,
      decidedBy: this.self,
    };
  }
}
