import { Any } from '../../wire/generated/google/protobuf/any';
import type { ResponseItem, ResponseItems } from './ads-response';

/** A resource of a response, without a wrapper. */
interface Element {
  /** Canonical. */
  readonly name: string;
  /** Those of the value that was accepted. */
  readonly bytes: Uint8Array;
}

/** The tag of `google.protobuf.Any.value`. */
const VALUE_TAG = 0x12;

/**
 * The order of the resources in the latest response of a type. Most servers send them in the same order each time, so
 * that an unchanged resource is found by its place, and neither it nor its name need be read.
 */
export class ResponseOrder {
  /** Without an element in the place of a resource that was not accepted. */
  private readonly elements: (Element | undefined)[] = [];
  /** What an encoded resource of the type has before the length of its value. */
  private readonly head: Uint8Array;

  constructor(typeUrl: string) {
    const type = Any.encode({ typeUrl, value: new Uint8Array() }).finish();
    this.head = Buffer.concat([type, Buffer.of(VALUE_TAG)]);
  }

  /** Returns what the previous response had in the place of a resource, if its bytes are the same. */
  unchanged(items: ResponseItems, index: number): Element | undefined {
    const element = this.elements[index];
    if (element === undefined) return undefined;
    return items.consistsOf(index, this.head, element.bytes) ? element : undefined;
  }

  /** Notes a resource, and the bytes of its value if it was accepted by its own name. */
  note(item: ResponseItem, index: number, name: string, bytes: Uint8Array | undefined): void {
    const hasOwnName = item.name === undefined && item.aliases.length === 0;
    this.elements[index] = hasOwnName && bytes !== undefined ? { name, bytes } : undefined;
  }

  /** Ends the response. @param count The number of its resources. */
  end(count: number): void {
    this.elements.length = Math.min(this.elements.length, count);
  }
}
