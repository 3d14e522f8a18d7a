/**
 * Returns a function that loads a module when it is first called, without waiting, and then returns it: most processes
 * need a part of this package only.
 *
 * @param load Calls `require` with the path of the module, by which the bundle of this package is split.
 */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- `require` has no type: the caller names it, and `local/lazy-modules` checks it
export function lazy<Module>(load: () => unknown): () => Module {
  let loaded: Module | undefined;
  // eslint-disable-next-line no-restricted-syntax -- see above
  return () => (loaded ??= load() as Module);
}
