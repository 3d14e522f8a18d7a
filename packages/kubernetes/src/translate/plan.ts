import { createHash } from 'node:crypto';
import type { ResourceKind } from 'grpc-xds/control-plane';
import type { Audience } from './audience';

/** A resource that differs between audiences, and is encoded when one of them receives it. */
export interface ResourcePlan {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The namespaces whose services clients must see to receive it: one of them is enough. */
  readonly namespaces: readonly string[];
  /** 16 hexadecimal digits, the same in any process for the input of the resource of each audience. */
  readonly digest: string;
  /** Returns a text that is the same for audiences with the same resource. There are only so many as the plan has parts. */
  variantOf(audience: Audience): string;
  encode(audience: Audience): Uint8Array;
}

/** Returns the digest of the input of a resource, as JSON. */
export function digestOfJson(value: unknown): string {
  return digestOfText(JSON.stringify(value, writeBigInt));
}

/** Returns 16 hexadecimal digits. */
export function digestOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function writeBigInt(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
