import { Any } from '../../generated/google/protobuf/any';
import type { Accepted, AcceptedEvent } from '../resource-state';
import type { ResponseItem, ResponseItems } from './ads-response';

/** A resource of a response, without a wrapper. */
interface Element {
  /** Canonical. */
  readonly name: string;
  readonly event: RepeatedEvent;
}

/** That a value is there again. The same object for each response, because many have thousands of them. */
interface RepeatedEvent extends AcceptedEvent<unknown> {
  version: string;
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
  unchanged(items: ResponseItems, index: number, version: string): Element | undefined {
    const element = this.elements[index];
    if (element === undefined) return undefined;
    const { event } = element;
    if (!items.consistsOf(index, this.head, event.accepted.bytes)) return undefined;
    event.version = version;
    return element;
  }

  /** Notes a resource, and its value if that was accepted by the resource's own name. */
  note(
    { name: nameBeside, aliases, version }: ResponseItem,
    index: number,
    name: string,
    accepted: Accepted<unknown> | undefined,
  ): void {
    const isKept = nameBeside === undefined && aliases.length === 0 && accepted !== undefined;
    const element = isKept && { name, event: { kind: 'accepted' as const, accepted, version } };
    this.elements[index] = element || undefined;
  }

  /** Ends the response. @param count The number of its resources. */
  end(count: number): void {
    this.elements.length = Math.min(this.elements.length, count);
  }
}
