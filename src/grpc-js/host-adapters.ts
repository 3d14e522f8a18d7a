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
