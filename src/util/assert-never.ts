/** Ends an exhaustive switch: the compiler rejects the call while a case is missing. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${String(value)}`);
}
