import { errorMessage } from '../util/error-message';
import type { Resolver } from './index';

/**
 * Has a DNS resolver of the host library say why a lookup failed, which it writes into its trace and nowhere else.
 * A resolver of the application, or of a version that looks names up in another way, is left as it is.
 *
 * @param onFailure Called with the cause before the resolver reports the failure.
 */
export function watchLookups(resolver: Resolver, onFailure: (cause: string) => void): void {
  const lookUp: unknown = Reflect.get(resolver, 'lookup');
  if (typeof lookUp !== 'function') return;
  Reflect.set(resolver, 'lookup', (...args: readonly unknown[]): unknown => {
    const result: unknown = Reflect.apply(lookUp, resolver, args);
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      onFailure(errorMessage(error));
      throw error;
    });
  });
}
