/** Whether the value is a promise, whoever made it. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/** Lets nobody wait for a promise: were it rejected, Node would end the process. */
export function abandon(promise: PromiseLike<unknown>): void {
  void promise.then(undefined, () => {});
}
