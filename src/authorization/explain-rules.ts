import type { MatchMeter } from '../resources/matching/match-meter';
import { cidrRangeText } from '../resources/shared/address-parser';
import {
  describeHeaderMatcher,
  describeHeaderMismatch,
  describeStringMatcher,
} from '../routing/describe-mismatch';
import { assertNever } from '../util/errors';
import { cutText, quoteText } from '../util/text';
import { EvaluatedRequest, namesOf } from './evaluated-request';
import { readHeader, type AuthorizationRequest } from './request';
import type { AuthorizationRules, Condition } from './rules';

/** Conditions of one list that an explanation shows. */
const MAX_SHOWN = 4;
/** Characters of one explanation. */
const MAX_LENGTH = 1024;

/** A rule that was tried. */
export interface RuleTrial {
  readonly name: string;
  /** Why it does not match; `undefined` if it does. */
  readonly mismatch: string | undefined;
}

/**
 * Tries the policies of rules in their order, to the first that matches, as `AuthorizationEngine` does.
 *
 * @returns each with why it does not match. Those after a match were not tried, and are left out.
 */
export function tryPolicies(
  { policies }: Pick<AuthorizationRules, 'policies'>,
  request: AuthorizationRequest,
  meter: MatchMeter,
): readonly RuleTrial[] {
  const evaluated = new EvaluatedRequest(meter);
  const trials: RuleTrial[] = [];
  evaluated.begin(request.path, request);
  try {
    for (const { name, permissions, principals } of policies) {
      const reason = whyNot(permissions, evaluated) ?? whyNot(principals, evaluated);
      const mismatch = reason && cutText(reason, MAX_LENGTH);
      trials.push({ name, mismatch });
      if (mismatch === undefined) break;
    }
  } finally {
    evaluated.end();
  }
  return trials;
}

/** Returns why a request does not satisfy a condition; `undefined` if it does. */
function whyNot(condition: Condition, evaluated: EvaluatedRequest): string | undefined {
  if (evaluated.satisfies(condition)) return undefined;
  const { request } = evaluated;
  switch (condition.kind) {
    case 'constant':
      return 'no request of a gRPC server satisfies one of its conditions, such as metadata of a JWT';
    case 'and':
      for (const each of condition.of) {
        const reason = whyNot(each, evaluated);
        if (reason !== undefined) return reason;
      }
      return 'it has no conditions';
    case 'or':
      return join(
        condition.of.map((each) => whyNot(each, evaluated) ?? ''),
        '; and ',
      );
    case 'not':
      return `what is excluded matches: ${describe(condition.of)}`;
    case 'header':
      return describeHeaderMismatch(condition.matcher, (name) => readHeader(name, request));
    case 'path':
      return `path ${quoteText(request.path)} is not ${describeStringMatcher(condition.matcher)}`;
    case 'address':
      return `${condition.side} address ${request[condition.side].address} is not in ${cidrRangeText(condition.range)}`;
    case 'port':
      return `port ${request.local.port} is not ${describePorts(condition)}`;
    case 'authenticated':
      return describeStranger(condition, request);
    default:
      return assertNever(condition);
  }
}

function describeStranger(
  { name }: Extract<Condition, { kind: 'authenticated' }>,
  request: AuthorizationRequest,
): string {
  if (request.tls === undefined)
    return 'the connection is plain text, on which no principal matches';
  const demanded = name === undefined ? 'any' : describeStringMatcher(name);
  if (request.tls.peer === undefined) {
    return `the client has no certificate, so that its principal is empty, and not ${demanded}`;
  }
  const names = namesOf(request).map((each) => quoteText(each));
  return `principal ${join(names, ', ')} is not ${demanded}`;
}

/** Describes what a condition demands. */
function describe(condition: Condition): string {
  switch (condition.kind) {
    case 'constant':
      return condition.value ? 'any request' : 'no request';
    case 'and':
      return join(condition.of.map(describe), ' and ');
    case 'or':
      return join(condition.of.map(describe), ' or ');
    case 'not':
      return `not (${describe(condition.of)})`;
    case 'header':
      return `header ${condition.matcher.name} ${describeHeaderMatcher(condition.matcher)}`;
    case 'path':
      return `path ${describeStringMatcher(condition.matcher)}`;
    case 'address':
      return `${condition.side} address in ${cidrRangeText(condition.range)}`;
    case 'port':
      return `port ${describePorts(condition)}`;
    case 'authenticated':
      return condition.name === undefined
        ? 'a TLS connection'
        : `principal ${describeStringMatcher(condition.name)}`;
    default:
      return assertNever(condition);
  }
}

function describePorts({ start, end }: { readonly start: number; readonly end: number }): string {
  return end === start + 1 ? `${start}` : `in [${start}, ${end})`;
}

function join(texts: readonly string[], separator: string): string {
  const shown = texts.slice(0, MAX_SHOWN).map((text) => cutText(text, MAX_LENGTH));
  const left = texts.length - shown.length;
  return left === 0 ? shown.join(separator) : `${shown.join(separator)}${separator}${left} more`;
}
