import type { Metadata } from '../grpc-js';
import { MatchedText } from '../resources/matching/string-matcher';

/**
 * The headers of one call as matchers read them, by the rules of routing (gRFC A28). Each is read once, however many
 * matchers there are.
 */
export class CallHeaders {
  private metadata: Metadata | undefined;
  private texts: Map<string, MatchedText | undefined> | undefined;

  constructor(metadata?: Metadata) {
    this.metadata = metadata;
  }

  /** Replaces the headers by those of another call; `undefined` forgets them. */
  reset(metadata: Metadata | undefined): void {
    this.metadata = metadata;
    this.texts = undefined;
  }

  /** Returns a header by its lower-case name; `undefined` if it is absent. */
  get(name: string): MatchedText | undefined {
    const texts = (this.texts ??= new Map<string, MatchedText | undefined>());
    const known = texts.get(name);
    if (known !== undefined || texts.has(name)) return known;
    const value = this.metadata && headerValue(name, this.metadata);
    const text = value === undefined ? undefined : new MatchedText(value);
    texts.set(name, text);
    return text;
  }
}

/**
 * The headers of a request that are not custom metadata, besides the content type. The host library and its filters set
 * them after routing, in place of those of the application.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#requests
 */
const CALL_DEFINITION: ReadonlySet<string> = new Set([
  'te',
  'grpc-timeout',
  'grpc-message-type',
  'grpc-encoding',
  'grpc-accept-encoding',
  'user-agent',
]);

/**
 * Returns a header with the rules of routing (gRFC A28): repeated values joined, binary headers absent and those that are
 * not custom metadata, and the content type that of every call.
 */
export function headerValue(name: string, metadata: Metadata): string | undefined {
  if (name.endsWith('-bin') || CALL_DEFINITION.has(name)) return undefined;
  if (name === 'content-type') return 'application/grpc';
  const values = metadata.get(name);
  return values.length > 0 ? values.join(',') : undefined;
}
