import { PATH, type MatchMeter } from '../resources/matching/match-meter';
import {
  MatchedText,
  matchesText,
  stepsOf,
  STEPS_PER_MATCHER,
  type StringMatcher,
} from '../resources/matching/string-matcher';
import type { HeaderMatcher } from '../resources/route-config/route-config';
import { addressBytes, isInRange } from '../resources/shared/address-parser';
import { headerSteps, matchesValue } from '../routing/route-matcher';
import { assertNever } from '../util/errors';
import { readHeader, type AuthorizationRequest } from './request';
import type { Condition, ConnectionSide, Policy } from './rules';

/** The addresses of the ends of connections: the requests of a connection share the objects of its ends. */
const addresses = new WeakMap<AuthorizationRequest[ConnectionSide], Uint8Array>();

/**
 * One request as conditions read it: each form of a text is made once, however many conditions there are, and every match spends
 * steps. One object serves all requests of an engine, one after the other.
 */
export class EvaluatedRequest {
  private current: AuthorizationRequest | undefined;
  private pathText: MatchedText | undefined;
  private names: readonly MatchedText[] | undefined;
  private readonly headers = new Map<string, MatchedText | undefined>();

  constructor(private readonly meter: MatchMeter) {}

  /** Begins with another request. */
  begin(request: AuthorizationRequest): void {
    this.current = request;
  }

  /** Forgets the request. */
  end(): void {
    this.current = undefined;
    this.pathText = undefined;
    this.names = undefined;
    if (this.headers.size > 0) this.headers.clear();
  }

  /** The request that is being evaluated. */
  get request(): AuthorizationRequest {
    if (this.current === undefined) throw new Error('no request is being evaluated');
    return this.current;
  }

  /** Returns the address of a side. @throws Error if it is none of IP, so that a range says nothing of it. */
  private address(side: ConnectionSide): Uint8Array {
    const end = this.request[side];
    const known = addresses.get(end);
    if (known !== undefined) return known;
    const bytes = addressBytes(end.address);
    if (bytes === undefined) throw new Error(noAddress(side));
    addresses.set(end, bytes);
    return bytes;
  }

  /** The port of the server. @throws Error if the connection has none. */
  private get localPort(): number {
    const { port } = this.request.local;
    if (port === 0) throw new Error(noAddress('local'));
    return port;
  }

  /** The names by which the peer is known; none in plain text. */
  get peerNames(): readonly MatchedText[] {
    return (this.names ??= namesOf(this.request).map((name) => new MatchedText(name)));
  }

  satisfiesPolicy({ permissions, principals }: Policy): boolean {
    return this.satisfies(permissions) && this.satisfies(principals);
  }

  /** Whether a condition is true. Loops, and no methods of lists: those take a function that is made each time. */
  satisfies(condition: Condition): boolean {
    switch (condition.kind) {
      case 'constant':
        return condition.value;
      case 'and':
        for (const each of condition.of) if (!this.satisfies(each)) return false;
        return true;
      case 'or':
        for (const each of condition.of) if (this.satisfies(each)) return true;
        return false;
      case 'not':
        return !this.satisfies(condition.of);
      case 'header':
        return this.matchesHeader(condition.matcher);
      case 'path':
        return this.matches(condition.matcher, this.path, PATH);
      case 'address':
        return isInRange(condition.range, this.address(condition.side));
      case 'port':
        return this.localPort >= condition.start && this.localPort < condition.end;
      case 'authenticated':
        return condition.name === undefined
          ? this.request.tls !== undefined
          : this.matchesPeer(condition.name);
      default:
        return assertNever(condition);
    }
  }

  private matchesHeader(matcher: HeaderMatcher): boolean {
    const { name } = matcher;
    const value = this.header(name);
    const length = value === undefined ? 0 : value.text.length;
    return (
      this.meter.spendText(headerSteps(matcher, value), name, length) &&
      matchesValue(matcher, value)
    );
  }

  /** Whether a name of the peer satisfies the matcher. No connection in plain text has a peer. */
  private matchesPeer(matcher: StringMatcher): boolean {
    for (const name of this.peerNames) {
      if (this.matches(matcher, name, 'peer name')) return true;
    }
    return false;
  }

  private matches(matcher: StringMatcher, text: MatchedText, what: string): boolean {
    const steps = STEPS_PER_MATCHER + stepsOf(matcher, text);
    return this.meter.spendText(steps, what, text.text.length) && matchesText(matcher, text);
  }

  private get path(): MatchedText {
    return (this.pathText ??= new MatchedText(this.request.path));
  }

  private header(name: string): MatchedText | undefined {
    const known = this.headers.get(name);
    if (known !== undefined || this.headers.has(name)) return known;
    const value = name === PATH ? this.path : textOf(readHeader(name, this.request));
    this.headers.set(name, value);
    return value;
  }
}

function noAddress(side: ConnectionSide): string {
  return `its connection has no ${side} IP address: serve such clients by TCP, or use rules without addresses and ports`;
}

function textOf(value: string | undefined): MatchedText | undefined {
  return value === undefined ? undefined : new MatchedText(value);
}

/**
 * Returns the names by which the peer of a TLS connection is known: those of the first kind that it has (gRFC A41). One without a
 * certificate has the empty name.
 */
export function namesOf({ tls }: AuthorizationRequest): readonly string[] {
  if (tls === undefined) return [];
  if (tls.peer === undefined) return [''];
  const { uriSans, dnsSans, subject } = tls.peer;
  if (uriSans.length > 0) return uriSans;
  return dnsSans.length > 0 ? dnsSans : [subject];
}
