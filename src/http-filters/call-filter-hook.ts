import { Metadata } from '../grpc-js';
import type { CallFilter } from './call-filter';

/** A method of call filters that a value passes through on its way from one filter to the next. */
export interface CallFilterHook<T> {
  readonly method: Exclude<keyof CallFilter, 'onStatus'>;
  /** Requests pass the filters in the order of the chain, responses in reverse. */
  readonly direction: 'request' | 'response';
  /** What the method must return. */
  readonly returns: string;
  /** Whether it may return a promise of that. */
  readonly mayWait: boolean;
  /** Calls the method. A filter without it hands on the value. */
  call(filter: CallFilter, value: T): T | Promise<T>;
  /** Whether the method returned what it must. Plain JavaScript may return anything. */
  isValid(value: T): boolean;
}

const isMetadata = (value: unknown): boolean => value instanceof Metadata;
const isBuffer = (value: unknown): boolean => Buffer.isBuffer(value);

/** `CallFilter.onRequestHeaders`. */
export const requestHeadersHook: CallFilterHook<Metadata> = {
  method: 'onRequestHeaders',
  direction: 'request',
  returns: 'Metadata',
  mayWait: true,
  call: (filter, headers) =>
    filter.onRequestHeaders === undefined ? headers : filter.onRequestHeaders(headers),
  isValid: isMetadata,
};

/** `CallFilter.onRequestMessage`. */
export const requestMessageHook: CallFilterHook<Buffer> = {
  method: 'onRequestMessage',
  direction: 'request',
  returns: 'a Buffer',
  mayWait: true,
  call: (filter, message) =>
    filter.onRequestMessage === undefined ? message : filter.onRequestMessage(message),
  isValid: isBuffer,
};

/** `CallFilter.onResponseHeaders`. */
export const responseHeadersHook: CallFilterHook<Metadata> = {
  method: 'onResponseHeaders',
  direction: 'response',
  returns: 'Metadata',
  mayWait: false,
  call: (filter, headers) =>
    filter.onResponseHeaders === undefined ? headers : filter.onResponseHeaders(headers),
  isValid: isMetadata,
};

/** `CallFilter.onResponseMessage`. */
export const responseMessageHook: CallFilterHook<Buffer> = {
  method: 'onResponseMessage',
  direction: 'response',
  returns: 'a Buffer',
  mayWait: true,
  call: (filter, message) =>
    filter.onResponseMessage === undefined ? message : filter.onResponseMessage(message),
  isValid: isBuffer,
};
