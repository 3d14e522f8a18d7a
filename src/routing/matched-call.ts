import type { Metadata } from '../grpc-js';
import { PATH, type MatchMeter } from '../resources/matching/match-meter';
import { MatchedText } from '../resources/matching/string-matcher';
import type { Random } from '../util/random';

/** Reads headers by the rules of routing (gRFC A28). */
export interface HeaderReader<Source> {
  /** Returns a header by its lower-case name; `undefined` if it is absent. */
  read(name: string, source: Source): string | undefined;
}

/** The headers of one call as matchers read them. Each is read once, however many matchers there are. */
export class CallHeaders<Source = Metadata> {
  protected source: Source | undefined;
  protected texts: Map<string, MatchedText | undefined> | undefined;

  constructor(
    private readonly reader: HeaderReader<Source>,
    source?: Source,
  ) {
    this.source = source;
  }

  /** Replaces the headers by those of another call; `undefined` forgets them. */
  reset(source: Source | undefined): void {
    this.source = source;
    this.texts = undefined;
  }

  /** Returns a header by its lower-case name; `undefined` if it is absent. */
  get(name: string): MatchedText | undefined {
    const texts = (this.texts ??= new Map<string, MatchedText | undefined>());
    const known = texts.get(name);
    if (known !== undefined || texts.has(name)) return known;
    const value = this.source && this.reader.read(name, this.source);
    const text = value === undefined ? undefined : new MatchedText(value);
    texts.set(name, text);
    return text;
  }
}

/**
 * What a call is matched by, with the steps that it takes. One object serves all calls of a channel, or requests of a server, one
 * after the other.
 *
 * @typeParam Source - What its headers are read from.
 */
export class MatchedCall<Source = Metadata> extends CallHeaders<Source> {
  path = '';
  private lower: string | undefined = undefined;

  /**
   * @param random Draws the shares of routes.
   * @param meter Default: matching is not limited.
   */
  constructor(
    readonly random: Random,
    reader: HeaderReader<Source>,
    private readonly meter?: MatchMeter,
  ) {
    super(reader);
  }

  /** Returns a call whose matching is not limited. */
  static of(path: string, metadata: Metadata, random: Random): MatchedCall {
    const call = new MatchedCall(random, clientHeaders);
    call.begin(path, metadata);
    return call;
  }

  /** Begins with another call. @param path Such as `/package.Service/Method`. */
  begin(path: string, source: Source): void {
    this.path = path;
    this.lower = undefined;
    this.source = source;
    this.texts = undefined;
  }

  /** Forgets the call. */
  end(): void {
    this.path = '';
    this.lower = undefined;
    this.source = undefined;
    this.texts = undefined;
  }

  /** The path in lower case. */
  get lowerPath(): string {
    return (this.lower ??= this.path.toLowerCase());
  }

  /** Whether no steps are left, so that the outcome of matching is not known. */
  get isExceeded(): boolean {
    return this.meter?.exceeded !== undefined;
  }

  /** Spends steps on a header. @returns false if fewer are left. */
  spend(steps: number, name: string, textLength: number): boolean {
    return this.meter === undefined || this.meter.spendText(steps, name, textLength);
  }

  /** Spends steps on the path. @returns false if fewer are left. */
  spendOnPath(steps: number): boolean {
    return this.spend(steps, PATH, this.path.length);
  }
}

/**
 * The headers of a request that are not custom metadata, besides the content type. grpc-js and its filters set
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

/** Reads the headers of calls before they are sent. */
export const clientHeaders: HeaderReader<Metadata> = { read: headerValue };
