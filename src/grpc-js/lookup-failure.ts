import { errorMessage } from '../util/error-message';
import type { Resolver } from './index';

/**
 * Reports why a lookup of a DNS resolver of grpc-js failed. grpc-js 1.14 writes the cause only into its trace: its private
 * method `lookup` rejects with it, and the caller drops it
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/resolver-dns.ts, `startResolution`).
 * A resolver of the application, or of a version that looks names up in another way, is left unchanged: the message then
 * has the text of grpc-js alone.
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
