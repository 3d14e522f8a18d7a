/** The name of an enum value, or its number if this client's schema does not have it. */
export function enumName(
  names: { readonly [value: number]: string | undefined },
  value: number,
): string {
  return names[value] ?? String(value);
}
