import {
  DiscoveryResponse,
  type DiscoveryRequest,
} from '../../generated/envoy/service/discovery/v3/discovery';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import { discoveryPath, readResponse } from './discovery-json';
import type { HttpAnswer } from './http-client';
import { describeRefusal, type Refusal } from './refusal';

/** Whom a poll works for. */
export interface PollOwner {
  readonly clock: Clock;
  /** Milliseconds until the next time. */
  nextDelayMs(): number;
  /** Sends a request. @returns a handle that gives up without a call back. */
  ask(
    request: DiscoveryRequest,
    etag: string | undefined,
    callback: (answer: Result<HttpAnswer, Refusal>) => void,
  ): Handle;
  /** The server has answered. */
  onAnswer(): void;
  /** There is a response to be taken. */
  onReady(): void;
  /** Nothing can be had from the server. */
  onRefusal(refusal: Refusal): void;
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'waiting'; readonly timer: Handle }
  | { readonly kind: 'asking'; readonly attempt: Handle }
  /** Nothing is asked before this has been taken: that is flow control. */
  | { readonly kind: 'ready'; readonly response: Uint8Array };

const OK = 200;
const NOT_MODIFIED = 304;

/**
 * Asks for the resources of one type, again and again, and finds out what is new. The state-of-the-world protocol
 * over REST: each request says which version there is already, so that the answer may be that there is no other.
 */
export class TypePoll {
  private state: State = { kind: 'idle' };
  private request: DiscoveryRequest | undefined;
  /** Names have been asked for that no answer was about, so that "no other version" would be no answer. */
  private isNew = true;
  private etag: string | undefined;
  /** The last body that was made a response. */
  private body: string | undefined;
  private responses = 0;
  /** The server's own, which it wants back. */
  private nonce = '';

  constructor(private readonly owner: PollOwner) {}

  /** What the client says now: what it wants, and what it makes of the last response. */
  update(request: DiscoveryRequest): void {
    const known = new Set(this.request?.resourceNames);
    const hasNew = request.resourceNames.some((name) => !known.has(name));
    // A request after a NACK does not revoke it: the NACK itself has not been sent yet.
    const { errorDetail = this.request?.errorDetail } = request;
    this.request = { ...request, errorDetail };
    if (hasNew) this.isNew = true;
    if (request.resourceNames.length === 0) this.setState({ kind: 'idle' });
    // Whatever is under way ends first, and leads to the next request at once.
    else if (hasNew && (this.state.kind === 'idle' || this.state.kind === 'waiting')) this.ask();
  }

  /** Takes the response that is ready. */
  take(): Uint8Array | undefined {
    if (this.state.kind !== 'ready') return undefined;
    const { response } = this.state;
    if (this.request !== undefined) this.request = { ...this.request, errorDetail: undefined };
    this.proceed();
    return response;
  }

  /** Ends it. */
  close(): void {
    this.setState({ kind: 'idle' });
  }

  private setState(next: State): void {
    const { state } = this;
    this.state = next;
    if (state.kind === 'waiting') state.timer.release();
    if (state.kind === 'asking') state.attempt.release();
  }

  /** Asks at once if there is something new to ask, and otherwise when it is time. */
  private proceed(): void {
    if (this.isNew) {
      this.ask();
      return;
    }
    const timer = this.owner.clock.setTimer(() => this.ask(), this.owner.nextDelayMs());
    this.setState({ kind: 'waiting', timer });
  }

  private ask(): void {
    const { request, isNew } = this;
    if (request === undefined) return;
    this.isNew = false;
    const versionInfo = isNew ? '' : request.versionInfo;
    const etag = isNew ? undefined : this.etag;
    const asked = { ...request, versionInfo, responseNonce: this.nonce };
    const attempt = this.owner.ask(asked, etag, (answer) =>
      this.onAnswer(request.typeUrl, answer, isNew),
    );
    this.setState({ kind: 'asking', attempt });
  }

  private onAnswer(typeUrl: string, answer: Result<HttpAnswer, Refusal>, isNew: boolean): void {
    if (!answer.ok) {
      this.owner.onRefusal(answer.error);
      return;
    }
    const { status, etag, body } = answer.value;
    const path = discoveryPath(typeUrl) ?? typeUrl;
    if (status !== OK && status !== NOT_MODIFIED) {
      this.owner.onRefusal(describeRefusal(path, answer.value));
      return;
    }
    this.owner.onAnswer();
    // A server that does not know what there is already sends the same over and over.
    if (status === NOT_MODIFIED || (body === this.body && !isNew)) {
      this.proceed();
      return;
    }
    const response = readResponse(body);
    if (!response.ok) {
      const details = `the answer to ${path} cannot be read: ${response.error}`;
      this.owner.onRefusal({ code: StatusCode.INTERNAL, details });
      return;
    }
    this.body = body;
    this.etag = etag;
    this.nonce = response.value.nonce;
    this.setState({ kind: 'ready', response: this.encode(typeUrl, response.value) });
    this.owner.onReady();
  }

  /** Fills in what goes without saying in an answer to one request. */
  private encode(typeUrl: string, response: DiscoveryResponse): Uint8Array {
    this.responses++;
    return DiscoveryResponse.encode({
      ...response,
      typeUrl: response.typeUrl || typeUrl,
      nonce: response.nonce || String(this.responses),
    }).finish();
  }
}
