/** Returns the name of a value of an enum, or its number if this schema does not have it. */
export function enumName(names: Readonly<Record<string, number>>, value: number): string {
  return Object.keys(names).find((name) => names[name] === value) ?? String(value);
}
