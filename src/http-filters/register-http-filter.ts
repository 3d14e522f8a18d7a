import { defineHttpFilter, type HttpFilterDefinition } from './define-http-filter';
import { HttpFilterRegistry } from './registry';
import { routerFilter } from './router/router-filter';

/**
 * The HTTP filters of this process: those of the application, and those of this package, which the composition root
 * adds. One registry, since an application may bring its filters along before or after it calls `register`.
 */
export const processHttpFilters = new HttpFilterRegistry([routerFilter]);

/**
 * Makes an HTTP filter of the application known to all `xds:` channels of the process (gRFC A39). To be called before
 * the first call on such a channel: a listener that names an unknown filter is rejected, and is not read again until
 * it changes.
 *
 * A filter takes the place of one registered before for the same type, those of this package included. Only the
 * router cannot be replaced.
 *
 * @throws Error if the definition names no types, or that of the router.
 */
export function registerHttpFilter<Config, Override = Config>(
  definition: HttpFilterDefinition<Config, Override>,
): void {
  const filter = defineHttpFilter(definition);
  for (const type of filter.configTypes) {
    if (processHttpFilters.isTerminal(type)) throw new Error(`${type} cannot be replaced`);
  }
  processHttpFilters.register(filter);
}
