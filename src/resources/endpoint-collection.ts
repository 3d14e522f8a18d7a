import type { XdsEndpoint } from './endpoints';

/** Endpoints of one locality, as a resource of their own (gRFC A95). */
export interface EndpointCollection {
  /** Empty: the locality is unreachable. */
  readonly endpoints: readonly XdsEndpoint[];
  /** As in `EndpointsResource`. */
  readonly unusableEndpoints?: number | undefined;
}
