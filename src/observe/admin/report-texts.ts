/** Returns the name of a type without its package. */
export function shortName(typeUrl: string): string {
  return typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
}

/** Formats a time. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
