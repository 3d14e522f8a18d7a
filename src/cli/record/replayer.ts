import { status } from '@grpc/grpc-js';
import type { RawCall } from './raw-ads-server';
import { isDelta, typeOf, UNREADABLE } from './recording';
import {
  type Answer,
  answerOf,
  readRequest,
  type ReplayPlan,
  type ReplayStep,
} from './replay-steps';

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
    call.on('data', (bytes: Buffer) => {
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
    call.on('end', () => call.end());
    call.on('error', () => {});
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
