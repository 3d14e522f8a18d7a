import { Metadata, Status, type StatusObject } from '../grpc-js';
import { CallFailedError, type CallFilter, type CallInfo } from './call-filter';
import {
  requestHeadersHook,
  requestMessageHook,
  responseHeadersHook,
  responseMessageHook,
  type CallFilterHook,
} from './call-filter-hook';
import { toCallFailedError, toStatusObject } from './filter-failure';
import type { PreparedFilter } from './http-filter';
import { abandon, isPromiseLike } from './promise-like';

/** A filter of the chain, under the name of its instance. */
interface Member {
  readonly name: string;
  readonly filter: CallFilter;
}

/** How the call is doing. Once a filter has failed it, filters see nothing but its end. */
type ChainState =
  | { readonly kind: 'running' }
  /** `position` is that of the filter that failed the call. */
  | { readonly kind: 'failed'; readonly position: number; readonly error: CallFailedError }
  | { readonly kind: 'ended' };

const running: ChainState = { kind: 'running' };
const ended: ChainState = { kind: 'ended' };

/**
 * The filters at work on one call, as one filter: requests pass them in order, responses in reverse (gRFC A39).
 * Whatever goes wrong in a filter comes out as a `CallFailedError`, so that it harms no other call.
 */
export class CallFilterChain implements CallFilter {
  private readonly members: Member[] = [];
  private state: ChainState = running;

  /**
   * Makes the filters of one call. When making one fails, those after it are not made, and every method fails
   * in the same way.
   */
  constructor(filters: readonly PreparedFilter[], call: CallInfo) {
    for (const { name, factory } of filters) {
      try {
        const filter = factory.create(call);
        if (filter !== undefined) this.members.push({ name, filter });
      } catch (error) {
        this.fail(this.members.length, error, `HTTP filter ${JSON.stringify(name)}`);
        return;
      }
    }
  }

  /** Whether no filter has anything to do for this call, and none has failed. */
  get isIdle(): boolean {
    return this.members.length === 0 && this.state === running;
  }

  /**
   * Whether the method would do more than hand on what it is given. May change once the request headers are
   * through, since a filter may decide by them what to do.
   */
  acts(method: keyof CallFilter): boolean {
    if (this.state !== running) return true;
    for (const { filter } of this.members) if (filter[method] !== undefined) return true;
    return false;
  }

  /** Passes the headers through all filters. Throws or rejects with a `CallFailedError`. */
  onRequestHeaders(headers: Metadata): Metadata | Promise<Metadata> {
    return this.pass(requestHeadersHook, headers, 0);
  }

  /** Passes the message through all filters. Throws or rejects with a `CallFailedError`. */
  onRequestMessage(message: Buffer): Buffer | Promise<Buffer> {
    return this.pass(requestMessageHook, message, 0);
  }

  /** Passes the headers through all filters. Throws a `CallFailedError`. */
  onResponseHeaders(headers: Metadata): Metadata {
    const result = this.pass(responseHeadersHook, headers, this.members.length - 1);
    // The hook lets no promise through: this is for the compiler.
    return isPromiseLike(result) ? new Metadata() : result;
  }

  /** Passes the message through all filters. Throws or rejects with a `CallFailedError`. */
  onResponseMessage(message: Buffer): Buffer | Promise<Buffer> {
    return this.pass(responseMessageHook, message, this.members.length - 1);
  }

  /** Tells every filter that the call has ended. Never throws. */
  onStatus(received: StatusObject): StatusObject {
    const { state } = this;
    if (state.kind === 'ended') return received;
    this.state = ended;
    let status = received;
    for (let position = this.members.length; position >= 0; position--) {
      // The filters behind the one that failed the call are told what they would have been told without it.
      if (state.kind === 'failed' && state.position === position) {
        status = toStatusObject(state.error.failure);
      }
      const member = this.members[position];
      if (member !== undefined) status = lastWord(member, status);
    }
    return status;
  }

  /** Passes a value through the filters from this position on, for as long as the call goes well. */
  private pass<T extends object>(hook: CallFilterHook<T>, value: T, from: number): T | Promise<T> {
    const step = hook.direction === 'request' ? 1 : -1;
    let current = value;
    for (let position = from; ; position += step) {
      if (this.state.kind === 'failed') throw this.state.error;
      if (this.state.kind === 'ended') throw callHasEnded();
      const member = this.members[position];
      if (member === undefined) return current;
      const fail = (error: unknown) => this.fail(position, error, describe(member, hook.method));
      let result: T | Promise<T>;
      try {
        result = hook.call(member.filter, current);
      } catch (error) {
        throw fail(error);
      }
      if (isPromiseLike(result) && hook.mayWait) {
        return result.then(
          (settled) => this.pass(hook, checked(hook, settled, fail), position + step),
          (error: unknown) => {
            throw fail(error);
          },
        );
      }
      current = checked(hook, result, fail);
    }
  }

  /** Notes the failure of the call, unless it is over. */
  private fail(position: number, reason: unknown, where: string): CallFailedError {
    const error = toCallFailedError(reason, where);
    if (this.state.kind === 'running') this.state = { kind: 'failed', position, error };
    return error;
  }
}

function describe({ name }: Member, method: keyof CallFilter): string {
  return `HTTP filter ${JSON.stringify(name)}, ${method}`;
}

function callHasEnded(): CallFailedError {
  return new CallFailedError({ code: Status.CANCELLED, details: 'The call has ended' });
}

/** The value, if it is one that the method may return. */
function checked<T extends object>(
  hook: CallFilterHook<T>,
  result: T | Promise<T>,
  fail: (error: unknown) => CallFailedError,
): T {
  if (isPromiseLike(result)) {
    abandon(result);
    throw fail(new Error(`must return ${hook.returns}, not a promise`));
  }
  if (hook.isValid(result)) return result;
  throw fail(new Error(`must return ${hook.returns}`));
}

function lastWord(member: Member, status: StatusObject): StatusObject {
  const { filter } = member;
  if (filter.onStatus === undefined) return status;
  try {
    const result: StatusObject | Promise<unknown> = filter.onStatus(status);
    if (isPromiseLike(result)) {
      abandon(result);
      throw new Error('must return a status, not a promise');
    }
    if (isStatus(result)) return result;
    throw new Error('must return a status');
  } catch (error) {
    return toStatusObject(toCallFailedError(error, describe(member, 'onStatus')).failure);
  }
}

function isStatus(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    'code' in value &&
    typeof value.code === 'number' &&
    'details' in value &&
    typeof value.details === 'string' &&
    'metadata' in value &&
    value.metadata instanceof Metadata
  );
}
