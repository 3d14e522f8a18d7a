import type { EventOrigin } from '../resource-events';
import type { ParseResourceName } from '../resource-name';
import type { Accepted } from '../resource-state';
import type { ResourceDecoderOptions } from './resource-decoder';
import type { ResponseOrder } from './response-order';

/** What a response is read with. */
export interface ReadContext extends Omit<ResourceDecoderOptions, 'previous' | 'nowMs'> {
  readonly origin: EventOrigin;
  readonly parseName: ParseResourceName;
  /** The requested resources of the type. They may change between two steps. */
  readonly resources: ReadonlyMap<string, { readonly accepted: Accepted<unknown> | undefined }>;
  /** The order of the previous response of the type. It is replaced by that of this one. */
  readonly order: ResponseOrder;
  /** Called with an exception of reading a resource, which is rejected. @param subject Names the resource. */
  readonly onError: (subject: string, error: unknown) => void;
}
