import { Resource } from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../../src/wire/generated/google/protobuf/any';
import { EncodedElements } from '../../src/wire/protobuf/encoded-elements';
import { err, ok } from '../../src/util/result';
import { ResponseItems } from '../../src/xds-client/ads/ads-response';
import type {
  Decoded,
  DecodeContext,
  Decoding,
  DiscoveryService,
  ElementLimit,
  ResourceType,
} from '../../src/xds-client/resource-type';

/** Those of a response without resources. */
export const NO_ITEMS = new ResponseItems(new EncodedElements(Buffer.of(), []), true, '');

/** What the tests' resources contain. An object, so that identity shows. */
export interface TestValue {
  readonly text: string;
}

/**
 * Resources are two lines of text, name and value. A value `!a,b` has the violations `a` and `b`, the value
 * `throw` makes the decoder throw, of a value `~a` the part `a` is skipped, and without a second line there is no name to be read.
 * A value that starts with `+` has itself as its record, and the previous text and its own as its change.
 */
export class TestResourceType implements ResourceType<TestValue> {
  readonly elementLimit: ElementLimit | undefined;
  readonly discoveryService: DiscoveryService | undefined;
  /** The name of every resource decoded, in order. */
  readonly decoded: string[] = [];
  /** The value that was cached under the name of the resource decoded last. */
  lastPrevious: TestValue | undefined;
  lastServerUri: string | undefined;
  /** The record of the previous version of the resource decoded last. */
  lastRecord: object | undefined;

  constructor(
    readonly typeName: string,
    readonly allResourcesRequiredInSotw: boolean,
    discoveryService?: DiscoveryService,
  ) {
    this.discoveryService = discoveryService;
  }

  get typeUrl(): string {
    return `type.googleapis.com/test.${this.typeName}`;
  }

  peekName(bytes: Uint8Array): string | undefined {
    const text = Buffer.from(bytes).toString();
    const end = text.indexOf('\n');
    return end === -1 ? undefined : text.slice(0, end);
  }

  describeChange(before: TestValue, after: TestValue): string {
    return `from ${before.text} to ${after.text}`;
  }

  /** Those after `unused:`. */
  describeUnusedFields(bytes: Uint8Array): readonly string[] {
    const [, fields] = Buffer.from(bytes).toString().split('unused:');
    return fields === undefined ? [] : fields.split(',');
  }

  describeSkipped({ text }: TestValue): string | undefined {
    return text.startsWith('~') ? text.slice(1).split(',')[0] : undefined;
  }

  countElements(_value: TestValue): number {
    return 0;
  }

  decode(bytes: Uint8Array, context: DecodeContext<TestValue>): Decoding<TestValue> {
    return this.decodeNow(bytes, context);
  }

  /** Decodes a resource at once. */
  decodeNow(bytes: Uint8Array, context: DecodeContext<TestValue>): Decoded<TestValue> {
    const name = this.peekName(bytes);
    if (name === undefined) return { name, result: err(['no line break']) };
    this.decoded.push(name);
    const previous = context.previous(name);
    this.lastPrevious = previous?.value;
    this.lastRecord = previous?.record;
    this.lastServerUri = context.server.serverUri;
    const text = Buffer.from(bytes)
      .toString()
      .slice(name.length + 1);
    if (text === 'throw') throw new Error('decoder is broken');
    if (text.startsWith('!')) return { name, result: err(text.slice(1).split(',')) };
    if (!text.startsWith('+')) return { name, result: ok({ text }) };
    return { name, result: { ok: true, value: { text }, record: { text } } };
  }

  /** A resource as it appears in a response. */
  resource(name: string, value: string): Any {
    return { typeUrl: this.typeUrl, value: Buffer.from(`${name}\n${value}`) };
  }
}

/** The wrapper message around a resource; without one it is a heartbeat. */
export function wrapper(
  name: string,
  resource: Any | undefined,
  extra: Partial<Resource> = {},
): Resource {
  return {
    name,
    resourceName: undefined,
    aliases: [],
    version: '',
    resource,
    ttl: undefined,
    ...extra,
  };
}

/** A time to live. */
export function seconds(count: number): Resource['ttl'] {
  return { seconds: BigInt(Math.floor(count)), nanos: Math.round((count % 1) * 1e9) };
}

/** The wrapper message as it appears in a state-of-the-world response. */
export function wrap(name: string, resource: Any | undefined, extra: Partial<Resource> = {}): Any {
  return {
    typeUrl: 'type.googleapis.com/envoy.service.discovery.v3.Resource',
    value: Resource.encode(wrapper(name, resource, extra)).finish(),
  };
}
