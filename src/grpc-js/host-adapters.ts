import type { Filter, FilterFactory } from '.';

/**
 * Wraps a function in a constructor. grpc-js takes constructors where the class may not be loaded yet, or its instances
 * need more arguments than grpc-js passes.
 */
export function constructorOf<Args extends readonly unknown[], Instance extends object>(
  create: (...args: Args) => Instance,
): new (...args: Args) => Instance {
  function Constructed(...args: Args): Instance {
    return create(...args);
  }
  // eslint-disable-next-line no-restricted-syntax -- `new` gives what a function returns, if that is an object; no type says so
  return Constructed as unknown as new (...args: Args) => Instance;
}

/** The methods of a filter that do not return their argument. */
export type FilterParts = Partial<Filter>;

const identity = <T>(value: T): T => value;
const passThrough: Filter = {
  sendMetadata: identity,
  receiveMetadata: identity,
  sendMessage: identity,
  receiveMessage: identity,
  receiveTrailers: identity,
};

/**
 * Creates a factory for filters of the host library, one per call. The methods that are left out return their argument,
 * without the promise that the host's own base filter puts around every message.
 */
export function createFilterFactory(create: () => FilterParts): FilterFactory {
  return { createFilter: () => ({ ...passThrough, ...create() }) };
}
