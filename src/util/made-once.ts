/** Returns a function that makes a value once for each key, and keeps it as long as the key is in use. */
export function madeOnce<Key extends WeakKey, Value extends object>(
  make: (key: Key) => Value,
): (key: Key) => Value {
  const made = new WeakMap<Key, Value>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}
