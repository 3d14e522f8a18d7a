import type { Metadata } from '../grpc-js';
import { PATH, type MatchMeter } from '../resources/matching/match-meter';
import { MatchedText } from '../resources/matching/string-matcher';
import type { Random } from '../util/random';

/** What a call is matched by, with the steps that it takes. One object serves all calls of a channel, one after the other. */
export class MatchedCall {
  readonly headers = new CallHeaders();
  private currentPath = '';
  private lower: string | undefined = undefined;

  /**
   * @param random Draws the shares of routes.
   * @param meter Default: matching is not limited.
   */
  constructor(
    readonly random: Random,
    private readonly meter?: MatchMeter,
  ) {}

  /** Returns a call whose matching is not limited. */
  static of(path: string, metadata: Metadata, random: Random): MatchedCall {
    const call = new MatchedCall(random);
    call.begin(path, metadata);
    return call;
  }

  /** Begins with another call. @param path Such as `/package.Service/Method`. */
  begin(path: string, metadata: Metadata): void {
    this.currentPath = path;
    this.lower = undefined;
    this.headers.reset(metadata);
  }

  /** Forgets the call. */
  end(): void {
    this.currentPath = '';
    this.lower = undefined;
    this.headers.reset(undefined);
  }

  get path(): string {
    return this.currentPath;
  }

  /** The path in lower case. */
  get lowerPath(): string {
    return (this.lower ??= this.currentPath.toLowerCase());
  }

  /** Whether no steps are left, so that the outcome of matching is not known. */
  get isExceeded(): boolean {
    return this.meter?.exceeded !== undefined;
  }

  /** Spends steps on a header. @returns false if there are not as many left. */
  spend(steps: number, name: string, textLength: number): boolean {
    return this.meter === undefined || this.meter.spendText(steps, name, textLength);
  }

  /** Spends steps on the path. @returns false if there are not as many left. */
  spendOnPath(steps: number): boolean {
    return this.spend(steps, PATH, this.currentPath.length);
  }
}

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
