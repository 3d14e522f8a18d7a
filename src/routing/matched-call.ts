import type { Metadata } from '../grpc-js';
import { CallHeaders } from './call-headers';
import { PATH, type MatchMeter } from '../resources/matching/match-meter';
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
