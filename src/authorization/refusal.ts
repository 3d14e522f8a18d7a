import type { Metadata, Status } from '../grpc-js';
import type { RuleTrial } from './explain-rules';

/** What a filter decides about a request, and why. */
export interface FilterExplanation {
  /** `undefined` if the request is passed on. */
  readonly refusal: Refusal | undefined;
  /** Whether the rules deny what they match, or allow it; `undefined` for a filter without rules. */
  readonly action: 'allow' | 'deny' | undefined;
  /** The rules that were tried, in their order. */
  readonly rules: readonly RuleTrial[];
}

/** A filter that refuses requests. */
export interface RefusingFilter {
  /** The name of the instance. */
  readonly filter: string;
  /** Whether its rules deny what they match, or allow it; `undefined` for a filter without rules. */
  readonly action: 'allow' | 'deny' | undefined;
}

/** The status of a request that a filter does not pass on. */
export interface Refusal {
  readonly code: Status;
  /** The details of the status. */
  readonly details: string;
  /** The reason, for logs; it must not be in the status. */
  readonly reason: string;
  /** Trailers; none by default. */
  readonly metadata?: Metadata | undefined;
  /** The name of the policy that denies it, for logs and metrics; absent if no policy decides, or if none allows it. */
  readonly policy?: string | undefined;
  /** The filter that does not pass it on, for metrics; absent if there is no filter to name. */
  readonly decidedBy?: RefusingFilter;
}

/**
 * The details of the statuses with which a server refuses requests, besides those of filters of an application. They go to remote
 * callers, and so name nothing of the mesh: no node, management server, resource, virtual host, filter or policy. The reason of a
 * refusal, for the log, has all of that.
 */
export const CallerDetails = {
  NO_VIRTUAL_HOST: 'no virtual host of this server is for the authority of the request',
  NO_ROUTE: 'no route of this server matches the request',
  ROUTE_NOT_KNOWN: 'the route of the request cannot be determined',
  WRONG_ACTION: 'the route of the request is not one that a server handles',
  NO_ROUTES: 'this server has no routes for the request',
  WRONG_METHOD: 'a gRPC server handles requests with the HTTP method POST only',
  NOT_JUDGED: 'the request cannot be evaluated',
} as const;

/** One of them. */
export type CallerDetail = (typeof CallerDetails)[keyof typeof CallerDetails];

/** The details of denied calls. They name no policy, nor whether there is one. */
export const DENIED = 'unauthorized RPC request rejected';
