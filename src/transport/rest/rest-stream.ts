import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import {
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import type { Handle } from '../../util/handle';
import type { Result } from '../../util/result';
import type { StreamStatus } from '../../xds-client/transport';
import { ServedStream, type ServedStreamOptions } from '../served-stream';
import {
  describeUnreadable,
  findAnswerProblem,
  NOT_MODIFIED,
  type HttpResponse,
} from './http-client';
import { discoveryPath, type ResponseReader } from './discovery-json';

/** The server of a stream. */
export interface RestServer {
  readonly reader: Pick<ResponseReader, 'read' | 'waitMs'>;
  /** Milliseconds until the next request for a type. */
  nextDelayMs(): number;
  /** Sends a request. @returns a handle that cancels it. */
  post(
    request: DiscoveryRequest,
    etag: string | undefined,
    callback: (answer: Result<HttpResponse, StreamStatus>) => void,
  ): Handle;
  /** Removes secrets and control characters from the details of a status. */
  sanitize(text: string): string;
}

/**
 * A stream over REST: a sequence of requests and responses for each type. The first response shows that the server is
 * reachable, and the first failure ends the stream.
 */
export class RestStream extends ServedStream {
  private readonly polls = new Map<string, TypePoll>();
  private node: Node | undefined;
  private isConnected = false;
  /** `onSent` is due for a message, once the server is known to be reachable. */
  private isSending = false;

  constructor(
    options: ServedStreamOptions,
    private readonly server: RestServer,
  ) {
    super(options);
  }

  override send(bytes: Uint8Array): void {
    if (!this.isOpen) return;
    const request = DiscoveryRequest.decode(bytes);
    // The client sends it once per stream; the next request may reach another server.
    this.node = request.node ?? this.node;
    this.isSending = true;
    const { typeUrl } = request;
    const isServed = discoveryPath(typeUrl) !== undefined;
    if (isServed) this.pollOf(typeUrl).update({ ...request, node: this.node });
    if (this.isConnected || !isServed) this.later(() => this.confirmSent());
  }

  override fail(status: StreamStatus): void {
    super.fail({ ...status, details: this.server.sanitize(status.details) });
  }

  /** Handles that the server has responded. */
  onReachable(): void {
    this.isConnected = true;
    this.later(() => this.confirmSent());
  }

  protected override deliver(): void {
    for (const poll of this.polls.values()) {
      if (this.credits === 0) return;
      const response = poll.take();
      if (response === undefined) continue;
      this.credits--;
      this.handler.onMessage(response);
      if (!this.isOpen) return;
    }
  }

  protected override end(): void {
    for (const poll of this.polls.values()) poll.close();
    super.end();
  }

  private pollOf(typeUrl: string): TypePoll {
    let poll = this.polls.get(typeUrl);
    if (poll === undefined) {
      poll = new TypePoll(this, this.server, this.clock);
      this.polls.set(typeUrl, poll);
    }
    return poll;
  }

  private confirmSent(): void {
    if (!this.isSending) return;
    this.isSending = false;
    this.handler.onSent();
  }
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'waiting'; readonly timer: Handle }
  | { readonly kind: 'requesting'; readonly attempt: Handle }
  /** No request is sent until this has been taken: that is flow control. */
  | { readonly kind: 'ready'; readonly response: Uint8Array };

/**
 * Requests the resources of one type at an interval, and detects changes: the state-of-the-world protocol over REST.
 * Each request has the version that is cached, so that the response may be that there is no other.
 */
class TypePoll {
  private state: State = { kind: 'idle' };
  private latest: DiscoveryRequest | undefined;
  /** Names were added that no response was about, so that "not modified" would say nothing about them. */
  private isNew = true;
  private etag: string | undefined;
  /** The digest of the last response. */
  private digest: string | undefined;
  private responses = 0;
  /** Of the last response. */
  private nonce = '';

  constructor(
    private readonly stream: RestStream,
    private readonly server: RestServer,
    private readonly clock: ServedStreamOptions['clock'],
  ) {}

  /** Handles a request of the client, which may answer the last response. */
  update(request: DiscoveryRequest): void {
    const known = new Set(this.latest?.resourceNames);
    const hasNew = request.resourceNames.some((name) => !known.has(name));
    // A request after a NACK does not revoke it: the NACK itself has not been sent yet.
    const { errorDetail = this.latest?.errorDetail } = request;
    this.latest = { ...request, errorDetail };
    if (hasNew) this.isNew = true;
    if (request.resourceNames.length === 0) this.setState({ kind: 'idle' });
    // A request in flight ends first, and is followed by the next one at once.
    else if (hasNew && (this.state.kind === 'idle' || this.state.kind === 'waiting'))
      this.proceed();
  }

  /** Takes the response that is ready. */
  take(): Uint8Array | undefined {
    if (this.state.kind !== 'ready') return undefined;
    const { response } = this.state;
    if (this.latest !== undefined) this.latest = { ...this.latest, errorDetail: undefined };
    this.proceed();
    return response;
  }

  /** Ends the poll. */
  close(): void {
    this.setState({ kind: 'idle' });
  }

  private setState(next: State): void {
    const { state } = this;
    this.state = next;
    if (state.kind === 'waiting') state.timer.release();
    if (state.kind === 'requesting') state.attempt.release();
  }

  /** Sends the next request: at once if names were added, else after the interval. */
  private proceed(): void {
    const waitMs = this.server.reader.waitMs();
    if (this.isNew && waitMs === 0) {
      this.request();
      return;
    }
    const delayMs = this.isNew ? waitMs : Math.max(waitMs, this.server.nextDelayMs());
    const timer = this.clock.setTimer(() => this.request(), delayMs);
    this.setState({ kind: 'waiting', timer });
  }

  private request(): void {
    const { latest: request, isNew } = this;
    if (request === undefined) return;
    this.isNew = false;
    const versionInfo = isNew ? '' : request.versionInfo;
    const etag = isNew ? undefined : this.etag;
    const sent = { ...request, versionInfo, responseNonce: this.nonce };
    const attempt = this.server.post(sent, etag, (answer) =>
      this.onAnswer(request.typeUrl, answer, isNew),
    );
    this.setState({ kind: 'requesting', attempt });
  }

  private onAnswer(
    typeUrl: string,
    answer: Result<HttpResponse, StreamStatus>,
    isNew: boolean,
  ): void {
    if (!answer.ok) {
      this.stream.fail(answer.error);
      return;
    }
    const { status, digest } = answer.value;
    const problem = findAnswerProblem(discoveryPath(typeUrl) ?? typeUrl, answer.value);
    if (problem !== undefined) {
      this.stream.fail(problem);
      return;
    }
    this.stream.onReachable();
    // A server that ignores the version sends the same body again.
    if (status === NOT_MODIFIED || (digest === this.digest && !isNew)) {
      this.proceed();
      return;
    }
    this.readAnswer(typeUrl, answer.value);
  }

  private readAnswer(typeUrl: string, answer: HttpResponse): void {
    const response = this.server.reader.read(answer.body);
    if (!response.ok) {
      const path = discoveryPath(typeUrl) ?? typeUrl;
      this.stream.fail(describeUnreadable(path, answer, response.error));
      return;
    }
    this.digest = answer.digest;
    this.etag = answer.etag;
    this.nonce = response.value.nonce;
    this.setState({ kind: 'ready', response: this.encode(typeUrl, response.value) });
    this.stream.deliverLater();
  }

  /** Fills in what a response over REST may leave out. */
  private encode(typeUrl: string, response: DiscoveryResponse): Uint8Array {
    this.responses++;
    return DiscoveryResponse.encode({
      ...response,
      typeUrl: response.typeUrl || typeUrl,
      nonce: response.nonce || String(this.responses),
    }).finish();
  }
}
