import { status } from '@grpc/grpc-js';
import { onCallEvent } from 'grpc-xds/internal';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { isDelta, UNREADABLE, typeOf, type Frame } from './recording';
import type { RawCall } from './recorder';

/** For exceptions. */
const PLACE = 'a replayed stream';

/** What a client answered to a response. */
export type Answer = { readonly kind: 'ack' } | { readonly kind: 'nack'; readonly error: string };

/** A recorded response, and when it is due. */
export interface ReplayStep {
  readonly type: string;
  /** The names that the client had subscribed to when the response was sent. */
  readonly names: ReadonlySet<string>;
  readonly bytes: Buffer;
  readonly nonce: string;
  readonly version: string;
  /** What the recorded client answered; `undefined` if the recording ended before. */
  answer: Answer | undefined;
}

/** A request, in either variant of the protocol. */
export interface ReadRequest {
  readonly type: string;
  readonly nonce: string;
  readonly error: string | undefined;
  /** Changes the names that are subscribed to. */
  apply(names: ReadonlySet<string>): ReadonlySet<string>;
}

/** Reads a request. */
function readRequest(method: string, bytes: Buffer): ReadRequest {
  if (isDelta(method)) {
    const request = DeltaDiscoveryRequest.decode(bytes);
    return {
      type: request.typeUrl,
      nonce: request.responseNonce,
      error: request.errorDetail?.message,
      apply: (names) => {
        const next = new Set([...names, ...request.resourceNamesSubscribe]);
        for (const name of request.resourceNamesUnsubscribe) next.delete(name);
        return next;
      },
    };
  }
  const request = DiscoveryRequest.decode(bytes);
  return {
    type: request.typeUrl,
    nonce: request.responseNonce,
    error: request.errorDetail?.message,
    apply: () => new Set(request.resourceNames),
  };
}

/** The recorded streams of one variant of the protocol. */
export interface ReplayPlan {
  readonly isDelta: boolean;
  /** By type, in the order in which they were sent. */
  readonly steps: ReadonlyMap<string, readonly ReplayStep[]>;
}

/** Returns the responses of a recording with the names and answers of its client. The variant is that of the first stream. */
export function planReplay(frames: readonly Frame[]): ReplayPlan {
  const usesDelta = frames.some(({ method }, i) => i === 0 && isDelta(method));
  const steps = new Map<string, ReplayStep[]>();
  const names = new Map<string, ReadonlySet<string>>();
  const sent = new Map<string, ReplayStep>();
  const known = new Map<string, { readonly step: ReplayStep; readonly stream: number }>();
  for (const { stream, direction, method, type, bytes } of frames) {
    if (isDelta(method) !== usesDelta || type === UNREADABLE) continue;
    const key = `${stream} ${type}`;
    if (direction === 'request') {
      const request = readRequest(method, bytes);
      names.set(key, request.apply(names.get(key) ?? new Set()));
      const answered = sent.get(`${key} ${request.nonce}`);
      if (answered !== undefined) answered.answer ??= answerOf(request);
      continue;
    }
    const { nonce, version, content } = readResponse(method, bytes);
    const own = names.get(key) ?? new Set<string>();
    const id = [type, content, ...own].join('\n');
    const before = known.get(id);
    // A later stream begins with what an earlier one has received; a new stream of a replay does so by itself.
    if (before !== undefined && before.stream !== stream) {
      sent.set(`${key} ${nonce}`, before.step);
      continue;
    }
    const step: ReplayStep = { type, bytes, nonce, version, answer: undefined, names: own };
    known.set(id, { step, stream });
    sent.set(`${key} ${nonce}`, step);
    steps.set(type, [...(steps.get(type) ?? []), step]);
  }
  return { isDelta: usesDelta, steps };
}

/** Returns what a request with a nonce says about the response. */
function answerOf({ error }: ReadRequest): Answer {
  return error === undefined ? { kind: 'ack' } : { kind: 'nack', error };
}

interface ResponseContent {
  readonly nonce: string;
  readonly version: string;
  /** Equal for responses that differ in their nonces only. */
  readonly content: string;
}

function readResponse(method: string, bytes: Buffer): ResponseContent {
  if (!isDelta(method)) {
    const response = DiscoveryResponse.decode(bytes);
    const { nonce, versionInfo: version } = response;
    const content = DiscoveryResponse.encode({ ...response, nonce: '' }).finish();
    return { nonce, version, content: Buffer.from(content).toString('base64') };
  }
  const response = DeltaDiscoveryResponse.decode(bytes);
  const { nonce, systemVersionInfo: version } = response;
  const content = DeltaDiscoveryResponse.encode({ ...response, nonce: '' }).finish();
  return { nonce, version, content: Buffer.from(content).toString('base64') };
}

/** Receives the events of a replay. */
export interface ReplayListener {
  /** A response was sent. */
  onSent(step: ReplayStep): void;
  /** The client answered as the recorded one, or not. */
  onAnswered(step: ReplayStep, answer: Answer, isSame: boolean): void;
  /** The client opened a stream that the recording cannot answer. */
  onRefused(reason: string): void;
}

/**
 * Sends recorded responses: each type in the order of the recording, a response when the client has subscribed to the
 * names of that time and has answered the response before. A new stream receives the last response of each type again.
 */
export class Replayer {
  /** The number of responses that were sent, by type. */
  private readonly sent = new Map<string, number>();
  private readonly answered = new Set<ReplayStep>();

  constructor(
    private readonly plan: ReplayPlan,
    private readonly listener: ReplayListener,
  ) {}

  /** The responses that the client has not answered, or that were not sent. */
  get left(): readonly ReplayStep[] {
    return [...this.plan.steps.values()].flat().filter((step) => !this.answered.has(step));
  }

  /** Serves a stream. */
  accept(method: string, call: RawCall): void {
    if (isDelta(method) !== this.plan.isDelta) {
      const variant = this.plan.isDelta ? 'incremental' : 'state-of-the-world';
      const details = `the recording has ${variant} streams, not ${method}`;
      this.listener.onRefused(details);
      call.emit('error', { code: status.UNIMPLEMENTED, details });
      return;
    }
    const types = new Map<string, TypeReplay>();
    onCallEvent(PLACE, call, 'data', (bytes: Buffer) => {
      if (typeOf({ direction: 'request', method, bytes }) === UNREADABLE) {
        call.emit('error', { code: status.INVALID_ARGUMENT, details: 'no discovery request' });
        return;
      }
      const request = readRequest(method, bytes);
      const type = types.get(request.type) ?? this.start(request.type);
      types.set(request.type, type);
      type.names = request.apply(type.names);
      if (type.due !== undefined && request.nonce === type.due.nonce) {
        this.onAnswer(type.due, answerOf(request));
        type.due = undefined;
      }
      this.advance(request.type, type, call);
    });
    onCallEvent(PLACE, call, 'end', () => call.end());
    onCallEvent(PLACE, call, 'error', () => {});
  }

  private start(type: string): TypeReplay {
    const next = Math.max(0, (this.sent.get(type) ?? 0) - 1);
    return { names: new Set(), next, due: undefined };
  }

  private onAnswer(step: ReplayStep, answer: Answer): void {
    this.answered.add(step);
    const isSame = step.answer === undefined || step.answer.kind === answer.kind;
    this.listener.onAnswered(step, answer, isSame);
  }

  private advance(name: string, type: TypeReplay, call: RawCall): void {
    const step = this.plan.steps.get(name)?.[type.next];
    if (step === undefined || type.due !== undefined) return;
    if ([...step.names].some((each) => !type.names.has(each))) return;
    type.next++;
    type.due = step;
    this.sent.set(name, Math.max(this.sent.get(name) ?? 0, type.next));
    call.write(step.bytes);
    this.listener.onSent(step);
  }
}

/** The state of a type on one stream. */
interface TypeReplay {
  names: ReadonlySet<string>;
  /** The index of the next response. */
  next: number;
  /** The response that was sent and is not answered yet. */
  due: ReplayStep | undefined;
}
