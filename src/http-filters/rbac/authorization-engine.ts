import type { MatchMeter } from '../../resources/matching/match-meter';
import { isInRange } from '../../resources/shared/address-parser';
import { trustDomainOf } from '../../security/peer/spiffe-id';
import { contained } from '../../util/contained';
import { assertNever, errorMessage } from '../../util/errors';
import { late } from '../../util/late';
import type { Logger } from '../../util/logger';
import { quoteText } from '../../util/text';
import type { AuditEvent, AuditRules, ConfiguredAuditLogger } from './audit-logger';
import { EvaluatedRequest } from './evaluated-request';
import type * as Index from './policy-index';
import type { PolicyIndex } from './policy-index';
import type { AuthorizationRequest } from './request';
import type { AuthorizationRules, Condition } from './rules';

/** What rules say of a request. */
export interface Decision {
  readonly isAllowed: boolean;
  /** The name of the policy that matches the request; `undefined` if none does. */
  readonly policy: string | undefined;
  /** Why the request could not be judged, for which it is denied. */
  readonly problem?: string;
}

/** Constructor options of an engine. */
export interface AuthorizationEngineOptions {
  readonly rules: AuthorizationRules;
  /** The name of the filter or of the authorization policy, for audits and the log. */
  readonly name: string;
  /** Counts the steps of the regular expressions of the rules, too. */
  readonly meter: MatchMeter;
  readonly logger: Logger;
}

/** Whether a request satisfies a condition. */
type Predicate = (request: EvaluatedRequest) => boolean;

interface CompiledPolicy {
  readonly matches: Predicate;
  readonly decision: Decision;
}

/** Loaded for the first rules with more policies than are tried one after the other. */
const loadIndex = late<typeof Index>(() => require('./policy-index'));

/** The number of policies up to which trying each is faster than an index of their paths and names. */
const MAX_UNINDEXED_POLICIES = 4;

const TRACER = 'xds_authorization';

/** Decides whether requests are allowed, by one set of rules (gRFC A41). Whatever fails, the request is denied. */
export class AuthorizationEngine {
  private readonly policies: readonly CompiledPolicy[];
  /** `undefined` for a few policies. */
  private readonly index: PolicyIndex | undefined;
  private readonly unmatched: Decision;
  private readonly evaluated: EvaluatedRequest;
  private readonly audit: ((event: AuditEvent) => void) | undefined;

  constructor(private readonly options: AuthorizationEngineOptions) {
    const { rules, meter, logger, name } = options;
    const isAllowed = rules.action === 'allow';
    this.policies = rules.policies.map(({ name: policy, permissions, principals }) => {
      const [can, is] = [compileCondition(permissions), compileCondition(principals)];
      const matches: Predicate = (request) => can(request) && is(request);
      return { matches, decision: { isAllowed, policy } };
    });
    if (rules.policies.length > MAX_UNINDEXED_POLICIES) {
      const matchesAt = (position: number, request: EvaluatedRequest) =>
        this.policies[position]?.matches(request) === true;
      this.index = new (loadIndex().PolicyIndex)(rules.policies, matchesAt, meter);
    }
    this.unmatched = { isAllowed: !isAllowed, policy: undefined };
    this.evaluated = new EvaluatedRequest(meter);
    this.audit = createAudit(rules.audit, (logging, error) => {
      logger.error(() => `${quoteText(name)}: the audit logger ${logging}: ${errorMessage(error)}`);
    });
  }

  /** The name of the filter or of the authorization policy. */
  get name(): string {
    return this.options.name;
  }

  /** Decides, audits the decision, and traces a denial. */
  authorize(request: AuthorizationRequest): Decision {
    const decision = this.decide(request);
    const { onAllow, onDeny } = this.options.rules.audit;
    if (decision.isAllowed ? onAllow : onDeny) this.audit?.(this.eventOf(request, decision));
    if (!decision.isAllowed) {
      this.options.logger.trace(
        TRACER,
        () => `${request.path}: denied by ${describeDenial(decision, this.options)}`,
      );
    }
    return decision;
  }

  /** Decides without a trace. */
  decide(request: AuthorizationRequest): Decision {
    const { meter } = this.options;
    meter.begin();
    this.evaluated.begin(request);
    let decision: Decision;
    try {
      decision = this.match();
    } catch (error) {
      decision = { isAllowed: false, policy: undefined, problem: errorMessage(error) };
    } finally {
      this.evaluated.end();
    }
    const exceeded = meter.end();
    if (exceeded === undefined) return decision;
    // Conditions that were not evaluated count as not matching, which may be the wrong way around.
    return { isAllowed: false, policy: undefined, problem: meter.describe(exceeded) };
  }

  private match(): Decision {
    const { policies, evaluated, unmatched } = this;
    if (this.index !== undefined) {
      const position = this.index.findFirst(evaluated);
      return position === undefined ? unmatched : this.decisionAt(position);
    }
    for (const { matches, decision } of policies) if (matches(evaluated)) return decision;
    return unmatched;
  }

  private decisionAt(position: number): Decision {
    const policy = this.policies[position];
    if (policy === undefined) throw new Error(`no policy ${position}`);
    return policy.decision;
  }

  private eventOf(request: AuthorizationRequest, { policy, isAllowed }: Decision): AuditEvent {
    return {
      rpcMethod: request.path,
      principal: spiffeIdOf(request) ?? '',
      policyName: this.options.name,
      matchedRule: policy ?? '',
      authorized: isAllowed,
    };
  }
}

/** Describes a denial for logs; the caller is not told. */
export function describeDenial(
  { policy, problem }: Decision,
  { name, rules }: Pick<AuthorizationEngineOptions, 'name' | 'rules'>,
): string {
  const subject = quoteText(name);
  if (problem !== undefined) return `${subject}, which cannot judge it: ${problem}`;
  if (policy !== undefined) return `${subject}: it matches the policy ${quoteText(policy)}`;
  return rules.policies.length === 0
    ? `${subject}, which has no policy that allows anything`
    : `${subject}: it matches none of the policies that allow`;
}

/** Returns the SPIFFE id of the client; empty if it has none, or none that is known. */
const spiffeIdOf = contained(
  ({ tls }: AuthorizationRequest): string => {
    const [id, ...others] = tls?.peer?.uriSans ?? [];
    return id !== undefined && others.length === 0 && trustDomainOf(id) !== undefined ? id : '';
  },
  () => undefined,
);

/** Creates the loggers, and returns what passes a decision to each; `undefined` if there are none. */
function createAudit(
  { loggers, onAllow, onDeny }: AuditRules,
  onError: (logger: string, error: unknown) => void,
): ((event: AuditEvent) => void) | undefined {
  if (loggers.length === 0 || !(onAllow || onDeny)) return undefined;
  const logs = loggers.map((logger) => createLog(logger, (error) => onError(logger.name, error)));
  return (event) => {
    for (const log of logs) log(event);
  };
}

/** A logger that cannot be created logs nothing. */
function createLog(
  configured: ConfiguredAuditLogger,
  onError: (error: unknown) => void,
): (event: AuditEvent) => void {
  const logger = contained(() => configured.create(), onError)();
  if (logger === undefined) return () => {};
  return contained((event) => logger.log(event), onError);
}

/** Compiles a condition. */
export function compileCondition(condition: Condition): Predicate {
  switch (condition.kind) {
    case 'constant': {
      const { value } = condition;
      return () => value;
    }
    case 'and':
      return compileAll(condition.of);
    case 'or':
      return compileAny(condition.of);
    case 'not': {
      const matches = compileCondition(condition.of);
      return (request) => !matches(request);
    }
    case 'header': {
      const { matcher } = condition;
      return (request) => request.matchesHeader(matcher);
    }
    case 'path': {
      const { matcher } = condition;
      return (request) => request.matchesPath(matcher);
    }
    case 'address':
      return compileAddress(condition);
    case 'port': {
      const { start, end } = condition;
      return ({ localPort }) => localPort >= start && localPort < end;
    }
    case 'authenticated': {
      const { name } = condition;
      if (name === undefined) return ({ request }) => request.tls !== undefined;
      return (request) => request.matchesPeer(name);
    }
    default:
      return assertNever(condition);
  }
}

// Loops, and no methods of lists: these run for every rule and request, and a method takes a function that is made each time.

function compileAll(conditions: readonly Condition[]): Predicate {
  const of = conditions.map(compileCondition);
  const [only] = of;
  if (of.length === 1 && only !== undefined) return only;
  return (request) => {
    for (const matches of of) if (!matches(request)) return false;
    return true;
  };
}

function compileAny(conditions: readonly Condition[]): Predicate {
  const of = conditions.map(compileCondition);
  const [only] = of;
  if (of.length === 1 && only !== undefined) return only;
  return (request) => {
    for (const matches of of) if (matches(request)) return true;
    return false;
  };
}

function compileAddress({ side, range }: Extract<Condition, { kind: 'address' }>): Predicate {
  return (request) => isInRange(range, request.address(side));
}
