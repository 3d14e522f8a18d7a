import type { ConfigSource } from '../../wire/generated/envoy/config/core/v3/config_source';
import type { Violations } from '../../util/violations';

type Specifier = NonNullable<ConfigSource['configSourceSpecifier']>['$case'];

/** Adds a violation unless the source is one of those allowed (gRFCs A27, A47). */
export function checkConfigSource(
  source: ConfigSource | undefined,
  allowed: readonly Specifier[],
  violations: Violations,
): void {
  if (source === undefined) {
    violations.add('field not present');
    return;
  }
  const specifier = source.configSourceSpecifier?.$case;
  if (specifier === undefined || !allowed.includes(specifier)) {
    violations.add(`must be ${allowed.join(' or ')}`);
  }
}
