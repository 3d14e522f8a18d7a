import type { RuleTrial } from '../../authorization/explain-rules';
import { joinLines, quoteText } from '../../util/text';

/** A route that was tried, in the order of the virtual host. */
export interface ServerRouteTrial {
  readonly index: number;
  /** May be empty. */
  readonly name: string;
  /** Why the route does not match; `undefined` if it does. */
  readonly mismatch: string | undefined;
}

/** A filter that decided about the request. */
export interface FilterTrial {
  /** The name of the instance, or of the authorization policy. */
  readonly name: string;
  /** Whether it passes the request on. */
  readonly isPassed: boolean;
  /** Whether its rules deny what they match, or allow it; `undefined` for a filter without rules. */
  readonly action: 'allow' | 'deny' | undefined;
  /** The rules that were tried, in their order: none follows one that matches. */
  readonly rules: readonly RuleTrial[];
}

/** The filter chain of a connection. */
export interface ChosenFilterChain {
  /** May be empty. */
  readonly name: string;
  /** The TLS it requires, such as `TLS, client certificate required`. */
  readonly tls: string;
  /** Why the connection has this chain: one line for each criterion that is set. */
  readonly reasons: readonly string[];
}

/** The decision about a request to a server, and the reasons. */
export interface RequestExplanation {
  /**
   * `allowed`: the handler is called. `denied`: a filter ends the request. `failed`: it ends before, such as without a route, or for the
   * action of its route. `closed`: there is no such connection.
   */
  readonly outcome: 'allowed' | 'denied' | 'failed' | 'closed';
  /** Why. Not told to the client. */
  readonly reason: string;
  /** The status that the client gets; `undefined` if the request is allowed, and without a connection. */
  readonly status: { readonly code: string; readonly details: string } | undefined;
  /** The name of the Listener; `undefined` if there is none. */
  readonly listener: string | undefined;
  /** The chain of the connection. */
  readonly filterChain: ChosenFilterChain | undefined;
  readonly virtualHost: string | undefined;
  /** The index of the route in the virtual host. */
  readonly route: number | undefined;
  /** The routes that were tried. */
  readonly routes: readonly ServerRouteTrial[];
  /** The filters that have judged the request, in their order. */
  readonly filters: readonly FilterTrial[];
  /** The name of the authorization policy, or of the HTTP filter, that has decided, as in audits (gRFC A59). */
  readonly policy: string | undefined;
  /** The name of the rule in it that matches the request; `undefined` if none does. */
  readonly rule: string | undefined;
  /** Other remarks, for example that the identity of the client is not used. */
  readonly notes: readonly string[];
}

/** Formats an explanation, in several lines. */
export function formatRequestExplanation(explanation: RequestExplanation): string {
  const { listener, filterChain, virtualHost, routes, filters, notes } = explanation;
  const { outcome, status, reason } = explanation;
  return joinLines([
    ...(listener === undefined ? [] : [`Listener ${quoteText(listener)}`]),
    ...(filterChain === undefined
      ? []
      : [
          `filter chain ${quoteText(filterChain.name)}: ${filterChain.tls}`,
          ...filterChain.reasons.map((reason) => `  ${reason}`),
        ]),
    ...(virtualHost === undefined ? [] : [`virtual host ${quoteText(virtualHost)}`]),
    ...routes.map((trial) => `  ${formatRoute(trial)}`),
    ...filters.flatMap(formatFilter),
    ...notes.map((note) => `note: ${note}`),
    `${outcome}${status === undefined ? '' : ` with ${status.code}`}: ${reason}`,
  ]);
}

function formatRoute({ index, name, mismatch }: ServerRouteTrial): string {
  const subject = name === '' ? `route ${index}` : `route ${index} ${quoteText(name)}`;
  return `${subject}: ${mismatch ?? 'matches'}`;
}

function formatFilter({ name, isPassed, action, rules }: FilterTrial): readonly string[] {
  const kind = action === undefined ? '' : `, ${action.toUpperCase()}`;
  return [
    `filter ${quoteText(name)}${kind}: ${isPassed ? 'passes' : 'refuses'}`,
    ...rules.map((rule) => `  policy ${quoteText(rule.name)}: ${rule.mismatch ?? 'matches'}`),
  ];
}
