import { Status, type Metadata } from '../../grpc-js';
import type { CompiledRegex } from '../../resources/extension-points';
import type { MatchMeter } from '../../resources/matching/match-meter';
import {
  MatchedText,
  matchesText,
  stepsOf,
  STEPS_PER_MATCHER,
  type StringMatcher,
} from '../../resources/matching/string-matcher';
import type { AddedHeader, HeaderMutation } from '../../resources/shared/header-mutation';
import { quoteText } from '../../util/text';
import { CallFailedError } from '../call-filter';
import type { CallRouting } from '../client-filter';

/** Which headers a service may change (`HeaderMutationRules`). */
export interface HeaderMutationRules {
  readonly allow: CompiledRegex | undefined;
  /** Wins over `allow`. */
  readonly disallow: CompiledRegex | undefined;
  readonly disallowAll: boolean;
  /** Whether a refused change fails the call. */
  readonly disallowIsError: boolean;
}

/** The rules of what the control plane itself configures. */
export const NO_RULES: HeaderMutationRules = {
  allow: undefined,
  disallow: undefined,
  disallowAll: false,
  disallowIsError: false,
};

/** A call whose headers are matched. Its steps are not counted without `routing`. */
export interface MatchedCall {
  readonly method: string;
  readonly routing?: Pick<CallRouting, 'match'> | undefined;
}

/** Characters of a name or a value. */
const MAX_LENGTH = 16_384;

/** Applies changes to headers. @throws CallFailedError if one is refused, and the rules say that this is an error. */
export function applyMutations(
  headers: Metadata,
  mutations: readonly HeaderMutation[],
  call: MatchedCall,
  rules = NO_RULES,
): void {
  matchNames(call, (matches) => {
    for (const mutation of mutations) {
      if (mutation.kind === 'remove-matching') {
        for (const name of namesOf(headers)) {
          if (!isReserved(name) && matches(mutation.names, name)) headers.remove(name);
        }
      } else if (isAllowed(mutation, rules)) change(headers, mutation);
      else if (rules.disallowIsError) throw refusal(mutation.name);
    }
  });
}

const PROTO = '__proto__';

/** The names of headers. The object that grpc-js makes of them lacks this one. */
export function namesOf(headers: Metadata): readonly string[] {
  const names = Object.keys(headers.getMap());
  return headers.get(PROTO).length === 0 ? names : [...names, PROTO];
}

/** Whether a name matches. */
export type MatchName = (matcher: StringMatcher, name: string) => boolean;

/** Runs a function that matches the names of headers, which spends steps of the call. @throws CallFailedError without steps left. */
export function matchNames<T>({ routing }: MatchedCall, run: (matches: MatchName) => T): T {
  const runWith = (meter?: MatchMeter) =>
    run((matcher, name) => {
      const text = new MatchedText(name);
      const steps = STEPS_PER_MATCHER + stepsOf(matcher, text);
      if (meter?.spendText(steps, name, name.length) === false) return false;
      return matchesText(matcher, text);
    });
  return routing === undefined ? runWith() : routing.match(runWith);
}

/** Headers of gRPC, and those that HTTP/2 forbids: Node.js throws for them. */
const RESERVED: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'content-type',
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Whether a header belongs to the protocol, so that nobody may change it. */
function isReserved(name: string): boolean {
  return name.startsWith(':') || name.startsWith('grpc-') || RESERVED.has(name);
}

function isAllowed(
  mutation: HeaderMutation & { name: string },
  rules: HeaderMutationRules,
): boolean {
  const { name } = mutation;
  const { allow, disallow, disallowAll } = rules;
  if (isReserved(name) || name !== name.toLowerCase() || name.length > MAX_LENGTH) return false;
  if (mutation.kind === 'add' && mutation.value.length > MAX_LENGTH) return false;
  if (disallow?.matches(name) === true) return false;
  return allow?.matches(name) === true || !disallowAll;
}

function change(headers: Metadata, mutation: AddedHeader | { kind: 'remove'; name: string }): void {
  const { name } = mutation;
  if (mutation.kind === 'remove') {
    headers.remove(name);
    return;
  }
  const { value, action } = mutation;
  if (action === 'append') headers.add(name, value);
  else if (
    action === 'overwrite-or-add' ||
    headers.get(name).length > 0 === (action === 'overwrite')
  ) {
    headers.set(name, value);
  }
}

function refusal(name: string): CallFailedError {
  const details = `header ${quoteText(name)} cannot be changed: the rules for header mutations forbid it`;
  return new CallFailedError({ code: Status.INTERNAL, details });
}
