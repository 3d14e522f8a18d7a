import type { HttpFilterConfig } from '../../resources/extension-points';

/** The full name of the message, for configs and overrides alike. */
export const HTTP_FAULT = 'envoy.extensions.filters.http.fault.v3.HTTPFault';

/** The share of calls that get a fault. */
export interface FaultShare {
  /** 0 to 1,000,000. What a header asks for is capped at this. */
  readonly perMillion: number;
  /** How many parts per million one of a header's percentage stands for: 10,000, 100 or 1. */
  readonly unit: number;
}

/** Holds calls back. */
export interface FaultDelay {
  readonly share: FaultShare;
  /** Milliseconds, or what the call's headers say. */
  readonly source:
    { readonly kind: 'fixed'; readonly delayMs: number } | { readonly kind: 'header' };
}

/** Fails calls. */
export interface FaultAbort {
  readonly share: FaultShare;
  /** A gRPC status code, 0 to 16, or what the call's headers say. */
  readonly source: { readonly kind: 'status'; readonly code: number } | { readonly kind: 'header' };
}

/** A validated HTTPFault (gRFC A33), the same message for a listener and for an override. */
export class FaultConfig implements HttpFilterConfig {
  readonly configType = HTTP_FAULT;

  /** @param maxActiveFaults How many faults may be going on in the process; `undefined` for any number. */
  constructor(
    readonly delay: FaultDelay | undefined,
    readonly abort: FaultAbort | undefined,
    readonly maxActiveFaults: number | undefined,
  ) {}
}
