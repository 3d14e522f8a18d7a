import { PATH, type MatchMeter } from '../resources/matching/match-meter';
import {
  MatchedText,
  matchesText,
  stepsOf,
  STEPS_PER_MATCHER,
  type StringMatcher,
} from '../resources/matching/string-matcher';
import { addressBytes, isInRange } from '../resources/shared/address-parser';
import { MatchedCall, type HeaderReader } from '../routing/matched-call';
import { matchesHeader } from '../routing/route-matcher';
import { assertNever } from '../util/errors';
import { readHeader, type AuthorizationRequest } from './request';
import type { Condition, ConnectionSide, Policy } from './rules';

/** The addresses of the ends of connections: the requests of a connection share the objects of its ends. */
const addresses = new WeakMap<AuthorizationRequest[ConnectionSide], Uint8Array>();

/** Reads the headers of requests by the rules of authorization. */
const requestHeaders: HeaderReader<AuthorizationRequest> = { read: readHeader };

/**
 * One request as conditions read it: each form of a text is made once, however many conditions there are, and every match spends
 * steps. One object serves all requests of an engine, one after the other.
 */
export class EvaluatedRequest extends MatchedCall<AuthorizationRequest> {
  private pathText: MatchedText | undefined;
  private names: readonly MatchedText[] | undefined;

  constructor(meter: MatchMeter) {
    super(() => 0, requestHeaders, meter);
  }

  override end(): void {
    super.end();
    this.pathText = undefined;
    this.names = undefined;
  }

  /** The request that is being evaluated. */
  get request(): AuthorizationRequest {
    if (this.source === undefined) throw new Error('no request is being evaluated');
    return this.source;
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
        return matchesHeader(condition.matcher, this);
      case 'path':
        return this.matches(
          condition.matcher,
          (this.pathText ??= new MatchedText(this.path)),
          PATH,
        );
      case 'address':
        return isInRange(condition.range, this.address(condition.side));
      case 'port': {
        const { port } = this.request.local;
        if (port === 0) throw new Error(noAddress('local'));
        return port >= condition.start && port < condition.end;
      }
      case 'authenticated':
        return condition.name === undefined
          ? this.request.tls !== undefined
          : this.matchesPeer(condition.name);
      default:
        return assertNever(condition);
    }
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
    return this.spend(steps, what, text.text.length) && matchesText(matcher, text);
  }
}

function noAddress(side: ConnectionSide): string {
  return `its connection has no ${side} IP address: serve such clients by TCP, or use rules without addresses and ports`;
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
