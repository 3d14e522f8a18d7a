import type { ResponseItem } from './ads-response';
import { isSame } from './resource-decoder';

/** A resource of a response, without a wrapper. */
interface Element {
  /** Canonical. */
  readonly name: string;
  /** Those of the value that was accepted. */
  readonly bytes: Uint8Array;
}

/** In the place of a resource that was not accepted. */
const NOTHING: Element = { name: '', bytes: new Uint8Array() };

/**
 * The order of the resources in the latest response of a type. Most servers send them in the same order each time, so
 * that an unchanged resource is found by its place, and its name need not be read.
 */
export class ResponseOrder {
  private readonly elements: Element[] = [];

  /** Returns what the previous response had in the place of a resource, if the bytes are the same. */
  unchanged({ resource, name, aliases }: ResponseItem, index: number): Element | undefined {
    const element = this.elements[index];
    if (element === undefined || resource === undefined) return undefined;
    if (name !== undefined || aliases.length > 0) return undefined;
    return isSame(element.bytes, resource.value) ? element : undefined;
  }

  /** Notes a resource, and the bytes of its value if it was accepted by its own name. */
  note(item: ResponseItem, index: number, name: string, bytes: Uint8Array | undefined): void {
    const hasOwnName = item.name === undefined && item.aliases.length === 0;
    this.elements[index] = hasOwnName && bytes !== undefined ? { name, bytes } : NOTHING;
  }

  /** Ends the response. @param count The number of its resources. */
  end(count: number): void {
    this.elements.length = Math.min(this.elements.length, count);
  }
}
