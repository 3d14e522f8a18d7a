import type { LbConfig } from '../../resources/extension-points';
import type { JsonFields } from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';

/** Returns a config as JSON of gRPC service configs, `{ name: config }`. A policy without `toJson` has no settings. */
export function policyToJson(config: LbConfig): Readonly<Record<string, object>> {
  return { [config.policyName]: config.toJson?.() ?? {} };
}

/** Returns the JSON of a child policy: a list with one choice. */
export function childPolicyToJson(config: LbConfig): readonly object[] {
  return [policyToJson(config)];
}

/** Returns a JSON object with the JSON of each entry. */
export function entriesToJson<T>(
  entries: ReadonlyMap<string, T>,
  toJson: (entry: T) => object,
): object {
  return Object.fromEntries<object>(
    Array.from(entries, ([name, entry]): [string, object] => [name, toJson(entry)]),
  );
}

/** Reads the field `childPolicy`; `undefined` after adding a violation, also if it is absent. */
export function readChildPolicy(
  fields: JsonFields,
  violations: Violations,
  parser: LbChildParser,
): LbConfig | undefined {
  return parser.parseList(fields.get('childPolicy'), violations.at('childPolicy'));
}
