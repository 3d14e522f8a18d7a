import { quoteName, quoteText } from '../util/text';
import { Metadata, Status, type StatusObject } from '../grpc-js';
import { abandon, atOnce, isPromiseLike } from '../util/contained';
import {
  CallFailedError,
  isFailure,
  toCallFailedError,
  toStatusObject,
  type CallFilter,
} from './call-filter';
import type { FilterCall, PreparedFilter } from './client-filter';

/** A method of call filters that takes a value and returns the one for the next filter. */
interface CallFilterHook<T> {
  readonly method: Exclude<keyof CallFilter, 'onStatus'>;
  /** Requests pass the filters in the order of the chain, responses in reverse. */
  readonly step: 1 | -1;
  /** What the method must return. */
  readonly returns: string;
  /** Whether it may return a promise of that. */
  readonly mayWait: boolean;
  /** Calls the method. Without it the filter leaves the value unchanged. */
  call(filter: CallFilter, value: T): T | Promise<T>;
  /** Whether the returned value has the type it must have. Plain JavaScript may return anything. */
  isValid(value: T): boolean;
}

type HeadersMethod = 'onRequestHeaders' | 'onResponseHeaders';
type MessageMethod = 'onRequestMessage' | 'onResponseMessage';

function headersHook(method: HeadersMethod): CallFilterHook<Metadata> {
  return {
    method,
    step: method === 'onRequestHeaders' ? 1 : -1,
    returns: 'Metadata',
    mayWait: method === 'onRequestHeaders',
    call: (filter, headers) => (filter[method] === undefined ? headers : filter[method](headers)),
    isValid: (value) => value instanceof Metadata,
  };
}

function messageHook(method: MessageMethod): CallFilterHook<Buffer> {
  return {
    method,
    step: method === 'onRequestMessage' ? 1 : -1,
    returns: 'a Buffer',
    mayWait: true,
    call: (filter, message) => (filter[method] === undefined ? message : filter[method](message)),
    isValid: (value) => Buffer.isBuffer(value),
  };
}

const requestHeadersHook = headersHook('onRequestHeaders');
const requestMessageHook = messageHook('onRequestMessage');
const responseHeadersHook = headersHook('onResponseHeaders');
const responseMessageHook = messageHook('onResponseMessage');

/** A filter of the chain, under the name of its instance. */
interface Member {
  readonly name: string;
  readonly filter: CallFilter;
}

/** The state of the call. Once a filter has failed it, only `onStatus` of the filters is called. */
type ChainState =
  | { readonly kind: 'running' }
  /** `position` is that of the filter that failed the call. */
  | { readonly kind: 'failed'; readonly position: number; readonly error: CallFailedError }
  | { readonly kind: 'ended' };

const running: ChainState = { kind: 'running' };
const ended: ChainState = { kind: 'ended' };

/**
 * The filters of one call as one filter: requests pass them in order, responses in reverse (gRFC A39).
 * An exception in a filter becomes a `CallFailedError`, so that it affects no other call.
 */
export class CallFilterChain implements CallFilter {
  private readonly members: Member[] = [];
  private state: ChainState = running;
  /** The filter that holds the request headers. */
  private holder: Member | undefined;

  /**
   * Creates the filters of one call. When creating one fails, those after it are not created, and every method fails
   * in the same way.
   */
  constructor(
    filters: readonly PreparedFilter[],
    private readonly call: FilterCall,
  ) {
    for (const { name, factory } of filters) {
      try {
        const filter = factory.create(call, name);
        if (filter !== undefined) this.members.push({ name, filter });
      } catch (error) {
        this.fail(this.members.length, error, `HTTP filter ${quoteName(name)}`);
        return;
      }
    }
  }

  /** Names the filter that delays the request headers; `undefined` if none does. */
  get delayedBy(): string | undefined {
    if (this.holder === undefined) return undefined;
    const name = quoteText(this.holder.name);
    return `HTTP filter ${name} delays the call: see its config in the listener or route`;
  }

  /** Whether no filter has anything to do for this call, and none has failed. */
  get isIdle(): boolean {
    return this.members.length === 0 && this.state === running;
  }

  /**
   * Whether the method can change its argument or fail. May change after the request headers, since a filter may
   * choose its methods by them.
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
    // The hook rejects promises: this is for the compiler.
    return isPromiseLike(result) ? new Metadata() : result;
  }

  /** Passes the message through all filters. Throws or rejects with a `CallFailedError`. */
  onResponseMessage(message: Buffer): Buffer | Promise<Buffer> {
    return this.pass(responseMessageHook, message, this.members.length - 1);
  }

  /** Calls `onStatus` of every filter. Never throws. */
  onStatus(received: StatusObject): StatusObject {
    const { state } = this;
    if (state.kind === 'ended') return received;
    this.state = ended;
    let status = received;
    for (let position = this.members.length; position >= 0; position--) {
      // The filters after the failed one receive the original status.
      if (state.kind === 'failed' && state.position === position) {
        status = toStatusObject(state.error.failure);
      }
      const member = this.members[position];
      if (member !== undefined) status = this.statusFrom(member, status);
    }
    return status;
  }

  /** Passes a value through the filters from this position on, until the call fails or ends. */
  private pass<T extends object>(hook: CallFilterHook<T>, value: T, from: number): T | Promise<T> {
    const { step } = hook;
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
        if (hook.method === 'onRequestHeaders') this.holder = member;
        return result.then(
          (settled) => {
            this.holder = undefined;
            return this.pass(hook, checked(hook, settled, fail), position + step);
          },
          (error: unknown) => {
            throw fail(error);
          },
        );
      }
      current = checked(hook, result, fail);
    }
  }

  /** Records the failure of the call, unless it has ended or failed already. */
  private fail(position: number, reason: unknown, where: string): CallFailedError {
    const error = this.toFailure(reason, where);
    if (this.state.kind === 'running') this.state = { kind: 'failed', position, error };
    return error;
  }

  private statusFrom(member: Member, status: StatusObject): StatusObject {
    const { filter } = member;
    if (filter.onStatus === undefined) return status;
    try {
      const result = atOnce(filter.onStatus(status), 'must return a status, not a promise');
      if (isStatus(result)) return result;
      throw new Error('must return a status');
    } catch (error) {
      return toStatusObject(this.toFailure(error, describe(member, 'onStatus')).failure);
    }
  }

  /** Converts an exception to the failure of the call; a bug of the filter is logged with its stack. */
  private toFailure(reason: unknown, where: string): CallFailedError {
    if (!isFailure(reason)) this.call.routing?.reportError(where, reason);
    return toCallFailedError(reason, where);
  }
}

function describe({ name }: Member, method: keyof CallFilter): string {
  return `HTTP filter ${quoteName(name)}, ${method}`;
}

function callHasEnded(): CallFailedError {
  return new CallFailedError({ code: Status.CANCELLED, details: 'The call has ended' });
}

/** Returns the value if the method may return it, and fails the call otherwise. */
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
