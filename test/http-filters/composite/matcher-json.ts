import type { Json } from '../../support/xds-json';

const TYPE = 'type.googleapis.com';

/** An input that reads this request header. */
export const headerInput = (name: string): Json => ({
  name: 'header',
  typed_config: {
    '@type': `${TYPE}/envoy.type.matcher.v3.HttpRequestHeaderMatchInput`,
    header_name: name,
  },
});

/** Compares a header. */
export const single = (name: string, value_match: Json): Json => ({
  single_predicate: { input: headerInput(name), value_match },
});

/** Whether a header has this value. */
export const equals = (name: string, exact: string): Json => single(name, { exact });

/** Ends in an action, given as the message it is. */
export const action = (typed_config: Json): Json => ({ action: { name: 'a', typed_config } });

/** Goes on with another tree. */
export const tree = (matcher: Json): Json => ({ matcher });

/** Conditions and what they lead to, in order. */
export const list = (
  ...matchers: readonly (readonly [predicate: Json, on_match: Json])[]
): Json => ({
  matcher_list: { matchers: matchers.map(([predicate, on_match]) => ({ predicate, on_match })) },
});

/** Leaves the filter out. */
export const skip: Json = {
  '@type': `${TYPE}/envoy.extensions.filters.common.matcher.action.v3.SkipFilter`,
};

/** Runs filters. */
export const execute = (fields: Json): Json => ({
  '@type': `${TYPE}/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction`,
  ...fields,
});

/** A filter inside the composite one. */
export const nested = (name: string, typed_config: Json): Json => ({ name, typed_config });

/** A composite filter. */
export const composite = (xds_matcher?: Json): Json => ({
  '@type': `${TYPE}/envoy.extensions.common.matching.v3.ExtensionWithMatcher`,
  extension_config: {
    name: 'composite',
    typed_config: { '@type': `${TYPE}/envoy.extensions.filters.http.composite.v3.Composite` },
  },
  xds_matcher,
});

/** The override of a composite filter. */
export const compositeOverride = (xds_matcher?: Json): Json => ({
  '@type': `${TYPE}/envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute`,
  xds_matcher,
});
