const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * A hash of a text, the same in every process: unsigned, 32 bits, every bit of it as good as the others. Quick, and
 * good for tables; who knows it can make texts that collide.
 *
 * @param seed Another one gives another hash. Unsigned, 32 bits; default 0.
 */
export function hashText(text: string, seed = 0): number {
  let hash = FNV_OFFSET ^ seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  // FNV leaves the upper bits of short texts poor. This is how MurmurHash3 ends.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
