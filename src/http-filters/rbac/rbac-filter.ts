import type { RegexCompilers } from '../../resources/extension-points';
import type { MatchMeter } from '../../resources/matching/match-meter';
import type { Logger } from '../../util/logger';
import { asConfig } from '../http-filter';
import type { ServerHttpFilter } from '../server-filter';
import type { AuditLoggerRegistry } from '../../authorization/audit-logger';
import { AuthorizationEngine } from '../../authorization/authorization-engine';
import { parseRbacConfig, parseRbacOverride, RBAC_FILTER, RBAC_PER_ROUTE } from './rbac-parser';
import { RbacConfig } from '../../authorization/rules';

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
      return rules && new AuthorizationEngine({ ...options, rules, name });
    },
  };
}
