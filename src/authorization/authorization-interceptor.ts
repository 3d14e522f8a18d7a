import { createGrpcLogger, currentTracers } from '../grpc-js/grpc-logger';
import { parseUnambiguousJson } from '../util/bounded-json';
import { Status, type ServerInterceptor } from '../grpc-js';
import { securityOf } from '../security/peer/tls-connections';
import { DEFAULT_LIMITS } from '../bootstrap/limits';
import { MatchMeter } from '../resources/matching/match-meter';
import {
  checkOptions,
  listOf,
  objectOf,
  optional,
  TEXT,
  type MembersOf,
} from '../util/check-arguments';
import { systemClock } from '../util/clock';
import { errorMessage } from '../util/errors';
import { MAX_CONFIG_VALUES, MAX_POLICY_BYTES } from '../util/limits';
import { LoggedOnce } from '../util/logged-once';
import type { Logger } from '../util/logger';
import { err, ok, type Result } from '../util/result';
import { quoteText } from '../util/text';
import { Violations } from '../util/violations';
import {
  AuditLoggerRegistry,
  type AuditLoggerDefinition,
  processAuditLoggers,
  AUDIT_LOGGER,
} from './audit-logger';
import { AuthorizationEngine } from './authorization-engine';
import { DENIED } from './refusal';
import { parseAuthorizationPolicy, type AuthorizationPolicy } from './authorization-policy';
import { InterceptedRequest, requestConnection, type AuthorizationRequest } from './request';
import { PolicyFile } from './policy-file';
import { containedInterceptor, interceptCall } from '../grpc-js/server-callbacks';
import { XdsError } from '../util/xds-error';

/** Options of `createAuthorizationInterceptor`: a policy, or a file with one. */
export interface AuthorizationInterceptorOptions {
  /** The policy. */
  readonly policy?: AuthorizationPolicy;
  /** Path of a JSON file with the policy, which is read again when it changes. */
  readonly file?: string;
  /** Audit loggers for this policy, in addition to the ones from `registerAuditLogger`. */
  readonly auditLoggers?: readonly AuditLoggerDefinition<unknown>[];
}

/** An interceptor for the `interceptors` of a server. */
export interface AuthorizationInterceptor extends ServerInterceptor {
  /** Ends the watch on the file. Calls are then judged by the last policy. */
  close(): void;
}

/** For exceptions. */
const PLACE = 'the authorization of a call';
const CALLER = 'createAuthorizationInterceptor()';

const OPTIONS: MembersOf<AuthorizationInterceptorOptions> = {
  policy: optional({
    legal: 'an authorization policy',
    accepts: (value) => typeof value === 'object' && value !== null,
  }),
  file: optional(TEXT),
  auditLoggers: optional(listOf('a list of audit loggers', objectOf(AUDIT_LOGGER))),
};

/**
 * Creates an interceptor that authorizes the calls of a server (gRFCs A41, A43, A59): a call that a deny rule matches, or no allow rule,
 * ends with PERMISSION_DENIED before its handler is called. The name of the rule is in audits and, with
 * `GRPC_TRACE=xds_authorization`, in the log; the caller is not told. A policy file that changes is read again, and one that cannot be
 * used replaces nothing: the last good one stays in use, which is logged once.
 *
 * @throws XdsError if an option or the policy is invalid, or its file cannot be read.
 *
 * @example
 * ```ts
 * import { Server } from '@grpc/grpc-js';
 * import { createAuthorizationInterceptor } from 'grpc-xds/server';
 *
 * const authorization = createAuthorizationInterceptor({ file: '/etc/shop/authorization.json' });
 * const server = new Server({ interceptors: [authorization] });
 * ```
 */
export function createAuthorizationInterceptor(
  options: AuthorizationInterceptorOptions,
): AuthorizationInterceptor {
  checkOptions(CALLER, options, OPTIONS);
  const { policy, file, auditLoggers = [] } = options;
  if ((policy === undefined) === (file === undefined)) {
    throw new XdsError('XDS_OPTION_INVALID', `${CALLER} needs either policy or file`);
  }
  const logger = createGrpcLogger({
    isTracerOn: currentTracers(),
    recoveryLevel: () => 'error',
    clock: systemClock,
  });
  const registry = new AuditLoggerRegistry(processAuditLoggers);
  for (const definition of auditLoggers) registry.register(definition);
  if (file === undefined) {
    const compiled = compilePolicy(policy, registry, logger);
    if (!compiled.ok)
      throw new XdsError('XDS_POLICY_INVALID', `${CALLER}: policy: ${compiled.error}`);
    return intercept({ current: compiled.value, close: () => undefined }, logger);
  }
  const parse = (text: string): Result<Engines, string> => {
    let json: unknown;
    try {
      json = parseUnambiguousJson(text, JSON_LIMITS);
    } catch (error) {
      return err(`not JSON: ${errorMessage(error)}`);
    }
    return compilePolicy(json, registry, logger);
  };
  return intercept(new PolicyFile({ path: file, clock: systemClock, logger, parse }), logger);
}

const JSON_LIMITS = { maxLength: MAX_POLICY_BYTES, maxValues: MAX_CONFIG_VALUES };

/** A policy in use. */
type Engines = readonly AuthorizationEngine[];

function compilePolicy(
  json: unknown,
  registry: AuditLoggerRegistry,
  logger: Logger,
): Result<Engines, string> {
  const violations = Violations.root();
  const policy = parseAuthorizationPolicy(json, registry, violations);
  if (policy === undefined) return err(violations.all.join('; '));
  const meter = new MatchMeter(DEFAULT_LIMITS, logger);
  const { name, chain } = policy;
  return ok(chain.map((rules) => new AuthorizationEngine({ rules, name, meter, logger })));
}

function intercept(
  policy: Pick<PolicyFile<Engines>, 'current' | 'close'>,
  logger: Logger,
): AuthorizationInterceptor {
  const logged = new LoggedOnce();
  const isDenied = (request: AuthorizationRequest) =>
    policy.current.some((engine) => {
      const { isAllowed, problem } = engine.authorize(request);
      if (problem !== undefined && logged.isFirst(problem)) {
        logger.error(
          () =>
            `authorization policy ${quoteText(engine.name)}: call ${quoteText(request.path)} denied: it cannot be evaluated, since ${problem}`,
        );
      }
      return !isAllowed;
    });
  const interceptor = containedInterceptor(PLACE, ({ path }, call) =>
    interceptCall(PLACE, call, {
      onMetadata(metadata) {
        const connection = requestConnection(call.getConnectionInfo(), () => securityOf(call));
        if (!isDenied(new InterceptedRequest(path, metadata, call, connection))) return true;
        call.sendStatus({ code: Status.PERMISSION_DENIED, details: DENIED });
        return false;
      },
    }),
  );
  return Object.assign(interceptor, { close: () => policy.close() });
}
