import type { HttpFilterConfig } from '../resources/extension-points';
import type { StringMatcher } from '../resources/matching/string-matcher';
import type { HeaderMatcher } from '../resources/route-config/route-config';
import type { CidrRange } from '../resources/shared/address-parser';
import type { AuditRules } from './audit-logger';

/** A side of a connection: that of the server is `local`. */
export type ConnectionSide = 'local' | 'remote';

/** What a policy demands of a request: its permissions and its principals alike (gRFC A41). */
export type Condition =
  /** Any request, or none. */
  | { readonly kind: 'constant'; readonly value: boolean }
  | { readonly kind: 'and' | 'or'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition }
  /** A name in lower case; `host` is `:authority`. */
  | { readonly kind: 'header'; readonly matcher: HeaderMatcher }
  | { readonly kind: 'path'; readonly matcher: StringMatcher }
  | { readonly kind: 'address'; readonly side: ConnectionSide; readonly range: CidrRange }
  /** The port of the server is in `[start, end)`. */
  | { readonly kind: 'port'; readonly start: number; readonly end: number }
  /** The connection is TLS and, if there is a matcher, a name of its peer satisfies it. */
  | { readonly kind: 'authenticated'; readonly name: StringMatcher | undefined };

/** Matches the requests that satisfy both conditions. */
export interface Policy {
  readonly name: string;
  /** What the request does. */
  readonly permissions: Condition;
  /** Where it comes from. */
  readonly principals: Condition;
}

/** What is allowed, or what is denied (gRFC A41). */
export interface AuthorizationRules {
  /** `allow`: a request is denied unless a policy matches it. `deny`: a request is denied if one does. */
  readonly action: 'allow' | 'deny';
  /** By name, in the order of the names: the first that matches is reported. */
  readonly policies: readonly Policy[];
  /** Which decisions are audited (gRFC A59). */
  readonly audit: AuditRules;
}

/** A validated RBAC or RBACPerRoute (gRFC A41). */
export class RbacConfig implements HttpFilterConfig {
  /** @param rules `undefined` if the filter does nothing. */
  constructor(
    readonly configType: string,
    readonly rules: AuthorizationRules | undefined,
  ) {}
}

/** Returns policies in the order in which they are tried. */
export function sortPolicies(policies: readonly Policy[]): readonly Policy[] {
  return [...policies].sort((a, b) => (a.name < b.name ? -1 : 1));
}
