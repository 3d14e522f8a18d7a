import type { HttpFilterConfig } from '../../resources/extension-points';
import type { Matcher } from './matcher';

/** The full name of the message that configures the filter. */
export const EXTENSION_WITH_MATCHER = 'envoy.extensions.common.matching.v3.ExtensionWithMatcher';

/** The full name of the message that overrides it. */
export const EXTENSION_WITH_MATCHER_PER_ROUTE =
  'envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute';

/** A filter inside the composite one. */
export interface NestedFilter {
  /** For people; may be empty, and need not be unique. */
  readonly name: string;
  readonly config: HttpFilterConfig;
}

/** Runs filters for a call. */
export interface ExecuteAction {
  readonly kind: 'execute';
  /** In the order in which requests pass them. */
  readonly filters: readonly NestedFilter[];
  /** Share of the matching calls they run for, 0 to 1,000,000. */
  readonly perMillion: number;
}

/** What a composite filter does with a call. */
export type CompositeAction = ExecuteAction | { readonly kind: 'skip' };

/** A validated ExtensionWithMatcher or ExtensionWithMatcherPerRoute (gRFC A103). */
export class CompositeConfig implements HttpFilterConfig {
  /** @param matcher `undefined` if the filter does nothing. */
  constructor(
    readonly configType: string,
    readonly matcher: Matcher<CompositeAction> | undefined,
  ) {}
}
