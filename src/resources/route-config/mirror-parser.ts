import type { RouteAction_RequestMirrorPolicy } from '../../wire/generated/envoy/config/route/v3/route_components';
import type { Violations } from '../../util/violations';
import type { ExtensionPoints } from '../extension-points';
import { MILLION, parseRuntimeFraction } from '../matching/fraction-parser';
import type { MirrorPolicy } from './route-config';

/**
 * Parses where copies of calls are sent. Without a cluster, with `cluster_header` instead, there is none.
 * @returns `undefined` if there are none, or the features of Envoy are disabled.
 */
export function parseMirrorPolicies(
  policies: readonly RouteAction_RequestMirrorPolicy[],
  { envoyFeatures = false }: ExtensionPoints,
  violations: Violations,
): readonly MirrorPolicy[] | undefined {
  if (!envoyFeatures) return undefined;
  const mirrors = policies.flatMap(({ cluster, runtimeFraction }, i) => {
    const at = violations.index(i).at('runtime_fraction');
    const perMillion = parseRuntimeFraction(runtimeFraction, at) ?? MILLION;
    return cluster === '' ? [] : [{ cluster, perMillion }];
  });
  return mirrors.length === 0 ? undefined : mirrors;
}
