import { createHash } from 'node:crypto';
import type { AdsResponse } from './ads-protocol';

/**
 * A short text that is equal for two responses exactly when they have the same to say, whatever their versions
 * and nonces are.
 */
export function responseDigest({ items, removed }: AdsResponse): string {
  const hash = createHash('sha256');
  for (const { name = '', resource } of items) {
    hash.update(`${name.length} ${name} ${resource?.value.length ?? -1} `);
    if (resource !== undefined) hash.update(resource.typeUrl).update(resource.value);
  }
  return hash.update(JSON.stringify(removed)).digest('base64');
}
