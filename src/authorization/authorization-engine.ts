import { Status } from '../grpc-js';
import type { MatchMeter } from '../resources/matching/match-meter';
import { trustDomainOf } from '../security/peer/spiffe-id';
import { contained } from '../util/contained';
import { errorMessage } from '../util/errors';
import { lazy } from '../util/lazy';
import type { Logger } from '../util/logger';
import { quoteText } from '../util/text';
import type { AuditEvent, ConfiguredAuditLogger } from './audit-logger';
import { EvaluatedRequest } from './evaluated-request';
import type * as Explaining from './explain-rules';
import type * as Index from './policy-index';
import type { PolicyIndex } from './policy-index';
import { DENIED, type FilterExplanation, type Refusal, type RefusingFilter } from './refusal';
import type { AuthorizationRequest } from './request';
import type { AuthorizationRules, Policy } from './rules';

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

/** Loaded for the first explanation. */
const loadExplaining = lazy<typeof Explaining>(() => require('./explain-rules'));

/** Loaded for the first rules with more policies than are tried one after the other. */
const loadIndex = lazy<typeof Index>(() => require('./policy-index'));

/** The number of policies up to which trying each is faster than an index of their paths and names. */
const MAX_UNINDEXED_POLICIES = 4;

const TRACER = 'xds_authorization';

/** Decides whether requests are allowed, by one set of rules (gRFC A41). Whatever fails, the request is denied. */
export class AuthorizationEngine {
  /** `undefined` for a few policies. */
  private readonly index: PolicyIndex | undefined;
  private readonly evaluated: EvaluatedRequest;
  private readonly self: RefusingFilter;
  /** Records a decision with each logger; none if no decision is audited. */
  private readonly logs: readonly ((event: AuditEvent) => void)[];

  constructor(private readonly options: AuthorizationEngineOptions) {
    const { rules, meter, logger, name } = options;
    const { policies, audit } = rules;
    if (policies.length > MAX_UNINDEXED_POLICIES) {
      this.index = new (loadIndex().PolicyIndex)(policies, meter);
    }
    this.evaluated = new EvaluatedRequest(meter);
    this.self = { filter: name, action: rules.action };
    const loggers = audit.onAllow || audit.onDeny ? audit.loggers : [];
    this.logs = loggers.map((each) =>
      createLog(each, (error) => {
        logger.error(
          () => `${quoteText(name)}: the audit logger ${each.name}: ${errorMessage(error)}`,
        );
      }),
    );
  }

  /** The name of the filter or of the authorization policy. */
  get name(): string {
    return this.options.name;
  }

  /** Authorizes a request. @returns the status with which it ends; `undefined` if it is passed on. */
  onRequest(request: AuthorizationRequest): Refusal | undefined {
    return this.refusalOf(this.authorize(request));
  }

  /** Explains the same decision. Nothing is audited or traced. */
  explain(request: AuthorizationRequest): FilterExplanation {
    const { rules, meter } = this.options;
    return {
      refusal: this.refusalOf(this.decide(request)),
      action: rules.action,
      rules: loadExplaining().tryPolicies(rules, request, meter),
    };
  }

  /** Decides, audits the decision, and traces a denial. */
  authorize(request: AuthorizationRequest): Decision {
    const decision = this.decide(request);
    const { onAllow, onDeny } = this.options.rules.audit;
    if (this.logs.length > 0 && (decision.isAllowed ? onAllow : onDeny)) {
      const event = this.eventOf(request, decision);
      for (const log of this.logs) log(event);
    }
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
    this.evaluated.begin(request.path, request);
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
    const { policies, action } = this.options.rules;
    const { index, evaluated } = this;
    // No method of lists: this runs for each request, and those take a function that is made each time.
    let policy: Policy | undefined;
    if (index !== undefined) policy = index.findFirst(evaluated);
    else {
      for (const each of policies) {
        if (!evaluated.satisfiesPolicy(each)) continue;
        policy = each;
        break;
      }
    }
    const isMatched = policy !== undefined;
    return { isAllowed: isMatched === (action === 'allow'), policy: policy?.name };
  }

  private refusalOf(decision: Decision): Refusal | undefined {
    if (decision.isAllowed) return undefined;
    return {
      code: Status.PERMISSION_DENIED,
      details: DENIED,
      reason: `denied by ${describeDenial(decision, this.options)}`,
      policy: decision.policy,
      decidedBy: this.self,
    };
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
function describeDenial(
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

/** A logger that cannot be created logs nothing. */
function createLog(
  configured: ConfiguredAuditLogger,
  onError: (error: unknown) => void,
): (event: AuditEvent) => void {
  const logger = contained(() => configured.create(), onError)();
  if (logger === undefined) return () => {};
  return contained((event) => logger.log(event), onError);
}
