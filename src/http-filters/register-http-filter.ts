import { defineHttpFilter, type HttpFilterDefinition } from './define-http-filter';
import { HttpFilterRegistry } from './registry';
import { routerFilter } from './router/router-filter';

/**
 * The HTTP filters of this process: those of the application, and those of this package, which the composition root
 * adds. One registry, since an application may bring its filters along before or after it calls `register`.
 */
export const processHttpFilters = new HttpFilterRegistry([routerFilter]);

/** See the function of that name of the package. */
export function registerHttpFilter<Config, Override = Config>(
  definition: HttpFilterDefinition<Config, Override>,
): void {
  const filter = defineHttpFilter(definition);
  for (const type of filter.configTypes) {
    if (processHttpFilters.isTerminal(type)) throw new Error(`${type} cannot be replaced`);
  }
  processHttpFilters.register(filter);
}
