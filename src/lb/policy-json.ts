import type { LbConfig } from '../resources/extension-points';

/** A config in the JSON of gRPC service configs, `{ name: config }`. A policy without `toJson` has nothing to configure. */
export function policyToJson(config: LbConfig): Readonly<Record<string, object>> {
  return { [config.policyName]: config.toJson?.() ?? {} };
}

/** The JSON of a child policy: a list with one choice. */
export function childPolicyToJson(config: LbConfig): readonly object[] {
  return [policyToJson(config)];
}
