/** A management server whose treatment of requests can be imitated. */
export type ImitatedServer = 'istiod';

/** The parts of a request of either variant by which it may be ignored. */
export interface AnsweringRequest {
  readonly responseNonce: string;
  readonly errorMessage?: string | undefined;
}

/**
 * Whether the imitated server ignores a request, names and all: istiod ignores one that rejects a response, and one that
 * answers an earlier response than the last (https://github.com/istio/istio/blob/1.27.0/pkg/xds/server.go#L163,
 * https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/delta.go#L353).
 * @param lastNonce Of the last response of the type; undefined before the first.
 */
export function isIgnored(
  imitated: ImitatedServer | undefined,
  { responseNonce, errorMessage }: AnsweringRequest,
  lastNonce: string | undefined,
): boolean {
  if (imitated !== 'istiod') return false;
  if (errorMessage !== undefined) return true;
  return responseNonce !== '' && lastNonce !== undefined && responseNonce !== lastNonce;
}
