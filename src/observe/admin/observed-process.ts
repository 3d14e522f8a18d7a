import type { Metadata } from '../../grpc-js';
import type { CallExplanation } from '../../resolver/explain-call';
import type { Handle } from '../../util/handle';
import type { InspectedProcess } from './inspect';

/** The process whose state a page shows. */
export interface ObservedProcess {
  /** Returns `undefined` while there has been no channel for an xds: target. */
  readonly inspected: () => InspectedProcess | undefined;
  /** @param of The target of a channel, and which client of the inspected process it uses. Default: any client. */
  readonly explainCall: (
    of: { readonly scope: string; readonly xdsClient?: object },
    method: string,
    headers: Metadata,
  ) => CallExplanation;
  /** Keeps more of the values that resources had, until the handle is released. */
  readonly keepMoreValues: () => Handle;
}
