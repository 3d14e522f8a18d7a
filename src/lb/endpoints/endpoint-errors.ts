import { type ConnectivityState, subchannelAddressToString } from '../../grpc-js';
import { parseConnectionError } from '../../grpc-js/connection-error';
import { describeLocality, type XdsEndpoint } from '../../resources/endpoints/endpoints';
import { connectionAdvice } from '../../util/connection-advice';
import { countStates, rollUpEndpoint, type EndpointRollUp } from '../../util/endpoint-counts';
import { joinFirst, sanitizeText } from '../../util/text';
import type { FailedEndpoint } from '../lb-policy';
import { stateName } from '../tree/policy-state';
import type { EndpointSet } from './endpoint-set';
import { inSeconds } from '../../util/duration';

/** The number of causes in the text of a failed pick. */
const MAX_CAUSES = 3;

/** Characters of a cause: an error of TLS has names from the certificate. */
const MAX_CAUSE_LENGTH = 1000;

/** The endpoints whose last error has the same cause. */
interface Cause {
  readonly text: string;
  readonly isConnectionFailure: boolean;
  readonly failed: Set<FailedEndpoint>;
  /** The name of the first of them, which is searched for once. */
  named: { readonly first: FailedEndpoint; readonly name: string } | undefined;
}

/** The last errors of the endpoints of a policy by cause, for the text of failed picks. */
export class EndpointErrors {
  /** The cause that appeared last at the end. */
  private readonly causes = new Map<string, Cause>();
  private readonly byEndpoint = new Map<FailedEndpoint, string>();

  /** Records the error of an endpoint in place of its previous one. */
  add(failed: FailedEndpoint, errorMessage: string): void {
    const { isConnectionFailure } = parseConnectionError(errorMessage);
    const text = endpointCause({ endpoint: failed.endpoint, errorMessage });
    if (this.byEndpoint.get(failed) === text) return;
    this.remove(failed);
    this.byEndpoint.set(failed, text);
    const known = this.causes.get(text);
    if (known !== undefined) {
      known.failed.add(failed);
      return;
    }
    this.causes.set(text, {
      text,
      isConnectionFailure,
      failed: new Set([failed]),
      named: undefined,
    });
    if (this.causes.size > MAX_CAUSES) this.removeOldest();
  }

  /** Removes the error of an endpoint that is connected, or no longer listed. */
  remove(failed: FailedEndpoint): void {
    const text = this.byEndpoint.get(failed);
    if (text === undefined) return;
    this.byEndpoint.delete(failed);
    const cause = this.causes.get(text);
    cause?.failed.delete(failed);
    if (cause?.failed.size === 0) this.causes.delete(text);
  }

  /** Returns the error of a failed pick. @param endpoints Those of the policy. */
  describe(endpoints: EndpointSet): string {
    const list = this.list(endpoints);
    if (list === '') return 'No connection established';
    const causes = [...this.causes.values()];
    const isFailure = causes.some(({ isConnectionFailure }) => isConnectionFailure);
    return `${isFailure ? 'No connection established' : 'No endpoint can be used'}. ${list}`;
  }

  /** Returns the causes, the newest first, each with an endpoint; empty if there are none. */
  list(endpoints: EndpointSet): string {
    const texts = Array.from(this.causes.values(), (cause) => describeCause(cause, endpoints));
    if (texts.length === 0) return '';
    return `Last ${texts.length === 1 ? 'error' : 'errors'}: ${texts.reverse().join('; ')}`;
  }

  private removeOldest(): void {
    for (const { text, failed } of this.causes.values()) {
      for (const endpoint of failed) this.byEndpoint.delete(endpoint);
      this.causes.delete(text);
      return;
    }
  }
}

function describeCause(cause: Cause, endpoints: EndpointSet): string {
  const { text, failed } = cause;
  const [first] = failed;
  if (first === undefined) return text;
  if (cause.named?.first !== first) {
    cause.named = { first, name: nameEndpoint(first.endpoint, endpoints) };
  }
  const more = failed.size === 1 ? '' : ` and ${failed.size - 1} more`;
  return `${text} (${cause.named.name}${more})${connectionAdvice(text)}`;
}

/** Returns why there is no connection to an endpoint, without its address. */
export function endpointCause({ endpoint, errorMessage }: FailedEndpoint): string {
  return withoutAddresses(parseConnectionError(errorMessage ?? '').cause, endpoint);
}

/** Returns the error of a failed pick, from that of one endpoint. */
export function describeEndpointError(
  endpoint: XdsEndpoint,
  errorMessage: string,
  endpoints: EndpointSet,
): string {
  const errors = new EndpointErrors();
  errors.add({ endpoint, errorMessage }, errorMessage);
  return errors.describe(endpoints);
}

/** What to check of an endpoint that does not answer. */
export const CHECK_ENDPOINT = 'check the network, and that it serves gRPC';

/** The number of endpoints searched for one that is connecting: a text must not cost more than a call. */
const MAX_SEARCHED = 1000;

/**
 * Returns why none of a list of endpoints is connected: how many there are, the one that has been connecting for
 * longest, and the errors of others.
 */
export function describeConnecting(
  leaves: Iterable<Connecting>,
  size: number,
  endpoints: EndpointSet,
  errors: EndpointErrors,
): string {
  let slowest: { readonly endpoint: XdsEndpoint; readonly ms: number } | undefined;
  let searched = 0;
  const states: (EndpointRollUp | undefined)[] = [];
  for (const { connectingMs: ms, endpoint, state } of leaves) {
    if (searched === MAX_SEARCHED) break;
    searched++;
    states.push(rollUpEndpoint({ state: stateName(state), health: endpoint.health }));
    if (ms === undefined) continue;
    if (slowest === undefined || ms > slowest.ms) slowest = { endpoint, ms };
  }
  const { waiting, total } = countStates(states);
  const counted = total + size - searched;
  const parts = [`no endpoint is connected (${waiting} of ${counted} connecting)`];
  if (slowest !== undefined) {
    parts.push(describeAttempt(nameEndpoint(slowest.endpoint, endpoints), slowest.ms));
  }
  const list = errors.list(endpoints);
  if (list !== '') parts.push(list);
  return parts.join('; ');
}

/** Returns what a call waits for that goes to one endpoint only. */
export function describeAwaited(
  { connectingMs, endpoint }: Pick<Connecting, 'connectingMs' | 'endpoint'>,
  set: EndpointSet,
): string {
  return describeAttempt(nameEndpoint(endpoint, set), connectingMs);
}

/** @param ms For how long it has been connecting; `undefined` if its attempt has not begun. */
export function describeAttempt(name: string, ms: number | undefined): string {
  if (ms === undefined) return `${name} is waiting for its turn to connect`;
  return `${name} has been connecting for ${inSeconds(ms)}: ${CHECK_ENDPOINT}`;
}

/** The part of a leaf for the text of a call that waits for it. */
export interface Connecting {
  readonly endpoint: XdsEndpoint;
  readonly state: ConnectivityState;
  /** For how long it has been connecting; `undefined` if its attempt has not begun. */
  readonly connectingMs: number | undefined;
}

/** Names an endpoint: its addresses and its locality. */
function nameEndpoint(endpoint: XdsEndpoint, { localities }: EndpointSet): string {
  const found = localities.find(({ endpoints }) => endpoints.includes(endpoint));
  const addresses = describeAddresses([endpoint]);
  return found === undefined ? addresses : `${addresses} in ${describeLocality(found.locality)}`;
}

/** Lists the addresses of endpoints. */
export function describeAddresses(endpoints: readonly XdsEndpoint[]): string {
  const all = endpoints.flatMap(({ addresses }) => addresses);
  return joinFirst(all, subchannelAddressToString);
}

/** The end of an error of Node.js that names the local address, such as ` - Local (0.0.0.0:0)`. */
const LOCAL_ADDRESS = / - Local \([^()]*\)/g;

/** Returns a cause without the addresses of its connection, so that it is the same for many endpoints: they are named besides. */
function withoutAddresses(cause: string, { addresses }: XdsEndpoint): string {
  let text = cause.replace(LOCAL_ADDRESS, '');
  for (const address of addresses) {
    // Node.js writes IPv6 addresses without brackets.
    text = withoutWord(text, subchannelAddressToString(address));
    text = withoutWord(text, `${address.host}:${address.port}`);
  }
  return sanitizeText(text.trim(), MAX_CAUSE_LENGTH);
}

/** Removes a word wherever it stands in a text, with the space before it. */
function withoutWord(text: string, word: string): string {
  return text.includes(word) ? ` ${text} `.replaceAll(` ${word} `, ' ').trim() : text;
}
