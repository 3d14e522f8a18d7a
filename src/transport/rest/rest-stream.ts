import type { Node } from '../../generated/envoy/config/core/v3/base';
import { DiscoveryRequest } from '../../generated/envoy/service/discovery/v3/discovery';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import type { XdsStream, XdsStreamHandler } from '../../xds-client/transport';
import type { HttpAnswer } from './http-client';
import type { Refusal } from './refusal';
import { TypePoll } from './type-poll';

/** What a stream is made of. */
export interface RestStreamOptions {
  readonly handler: XdsStreamHandler;
  readonly clock: Clock;
  /** Milliseconds until the next request for a type. */
  nextDelayMs(): number;
  /** Sends a request. @returns a handle that gives up without a call back. */
  ask(
    request: DiscoveryRequest,
    etag: string | undefined,
    callback: (answer: Result<HttpAnswer, Refusal>) => void,
  ): Handle;
  /** Whether a type can be had this way. */
  isServed(typeUrl: string): boolean;
  /** Makes the text of a refusal fit for a status. */
  sanitize(text: string): string;
  /** The stream is of no use any more, whoever ended it. */
  onEnd(stream: RestStream): void;
}

/**
 * A stream that is a sequence of requests and answers for each type. The first answer tells that there is a
 * connection, and the first refusal ends the stream: when to try again is for whoever opened it to decide. Nothing
 * is called from within a call made on it.
 */
export class RestStream implements XdsStream {
  private readonly polls = new Map<string, TypePoll>();
  private node: Node | undefined;
  /** Messages asked for that have not been given. */
  private wanted = 0;
  private isOpen = true;
  private isConnected = false;
  /** A message was sent that is not known to have arrived. */
  private isSending = false;

  constructor(private readonly options: RestStreamOptions) {}

  /** See `XdsStream`. */
  send(bytes: Uint8Array): void {
    if (!this.isOpen) return;
    const request = DiscoveryRequest.decode(bytes);
    // On a stream it is sent once; the next request may be answered by somebody else.
    this.node = request.node ?? this.node;
    this.isSending = true;
    const { typeUrl } = request;
    const isServed = this.options.isServed(typeUrl);
    if (isServed) this.pollOf(typeUrl).update({ ...request, node: this.node });
    if (this.isConnected || !isServed) this.later(() => this.confirmSent());
  }

  /** See `XdsStream`. */
  read(): void {
    this.wanted++;
    this.later(() => this.deliver());
  }

  /** See `XdsStream`. Nothing is owed to one who has nothing more to say. */
  halfClose(): void {
    this.fail({ code: StatusCode.OK, details: '' });
  }

  /** See `XdsStream`. */
  close(): void {
    if (this.isOpen) this.end();
  }

  /** Ends the stream as a server would. */
  fail({ code, details }: Refusal): void {
    const status = { code, details: this.options.sanitize(details) };
    this.later(() => {
      this.end();
      this.options.handler.onClosed(status);
    });
  }

  private pollOf(typeUrl: string): TypePoll {
    let poll = this.polls.get(typeUrl);
    if (poll === undefined) {
      const { clock } = this.options;
      poll = new TypePoll({
        clock,
        nextDelayMs: () => this.options.nextDelayMs(),
        ask: (...args) => this.options.ask(...args),
        onAnswer: () => this.onAnswer(),
        onReady: () => this.later(() => this.deliver()),
        onRefusal: (refusal) => this.fail(refusal),
      });
      this.polls.set(typeUrl, poll);
    }
    return poll;
  }

  private onAnswer(): void {
    this.isConnected = true;
    this.later(() => this.confirmSent());
  }

  private confirmSent(): void {
    if (!this.isSending) return;
    this.isSending = false;
    this.options.handler.onSent();
  }

  private deliver(): void {
    for (const poll of this.polls.values()) {
      if (this.wanted === 0) return;
      const response = poll.take();
      if (response === undefined) continue;
      this.wanted--;
      this.options.handler.onMessage(response);
      if (!this.isOpen) return;
    }
  }

  private later(task: () => void): void {
    this.options.clock.soon(() => {
      if (this.isOpen) task();
    });
  }

  private end(): void {
    this.isOpen = false;
    for (const poll of this.polls.values()) poll.close();
    this.options.onEnd(this);
  }
}
