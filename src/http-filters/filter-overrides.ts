import { quoteName } from '../util/text';
import type { HttpFilterConfig } from '../resources/extension-points';
import type { HttpFilterInstance } from '../resources/listener/listener';
import type {
  HttpFilterOverride,
  HttpFilterOverrides,
} from '../resources/route-config/route-config';

/** A filter of a chain with what overrides it at one place. */
export interface ConfiguredFilter {
  /** The name of the instance. */
  readonly name: string;
  readonly config: HttpFilterConfig;
  readonly override: HttpFilterConfig | undefined;
  /** The overrides of the places around that, the most specific first. Default: there are none. */
  readonly outer?: readonly HttpFilterConfig[];
}

/**
 * Returns the filters of a chain that are enabled at one place, in order (gRFC A39).
 *
 * @param overrides Of the place and of those around it, the most specific first: the first for an instance applies.
 */
export function enabledFilters(
  filters: readonly HttpFilterInstance[],
  overrides: readonly HttpFilterOverrides[],
): readonly ConfiguredFilter[] {
  const enabled: ConfiguredFilter[] = [];
  for (const { name, config, disabled } of filters) {
    const [override, ...others] = overridesOf(overrides, name);
    // An override enables its instance, unless it disables it.
    if (override === undefined ? disabled : override.disabled) continue;
    const outer = others.length === 0 ? NONE : others.flatMap((each) => each.config ?? []);
    enabled.push({ name, config, override: override?.config, outer });
  }
  return enabled;
}

const NONE: readonly HttpFilterConfig[] = [];

function overridesOf(
  overrides: readonly HttpFilterOverrides[],
  name: string,
): readonly HttpFilterOverride[] {
  const found: HttpFilterOverride[] = [];
  for (const byName of overrides) {
    const override = byName.get(name);
    if (override !== undefined) found.push(override);
  }
  return found;
}

/** The filters of the process, or of a test. */
interface OverrideChecker {
  isOverrideOf(override: HttpFilterConfig, config: HttpFilterConfig): boolean;
}

/**
 * Describes an override of another type than that of its filter; `undefined` for one that fits. The type of an override cannot be
 * validated when the route configuration arrives, since that names instances, not types. Calls must fail then: to ignore the
 * override could disable the protection of a service.
 */
export function findMisfit(
  { name, config, override }: ConfiguredFilter,
  checker: OverrideChecker,
): string | undefined {
  if (override === undefined || checker.isOverrideOf(override, config)) return undefined;
  return (
    `The override of HTTP filter ${quoteName(name)} is ${override.configType}, ` +
    `which does not fit ${config.configType}`
  );
}
