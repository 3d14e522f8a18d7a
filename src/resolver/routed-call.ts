import {
  Metadata,
  Status,
  toPickInformation,
  type CallConfig,
  type Filter,
  type FilterFactory,
  type MethodConfig,
  type StatusObject,
} from '../grpc-js';
import type { CallAttributes } from '../lb/call-attributes';
import type { ClusterRef } from './cluster-refs';
import type { PendingHash } from './request-hash';

const CANCELLED = {
  code: Status.CANCELLED,
  details: 'The call has ended',
  metadata: new Metadata(),
};

/**
 * The config of a call without HTTP filters. The call config, the factory it names, the filter that factory creates and
 * the attributes that pickers read are this one object, because a call that costs a few microseconds should not leave a
 * dozen objects behind.
 *
 * The reference to its cluster is released when the call is committed, or else when it has ended: the host library ends
 * calls without committing them when they are cancelled early, or while they wait to be retried (gRFC A31).
 */
export class RoutedCall implements CallConfig, FilterFactory, Filter, CallAttributes {
  readonly status = Status.OK;
  readonly dynamicFilterFactories: FilterFactory[] = [this];
  readonly pickInformation: CallConfig['pickInformation'] = toPickInformation(this);
  readonly cluster: string;
  private readonly ref: ClusterRef;
  private hash: bigint | undefined;
  private ended = false;

  /** Acquires a reference to the cluster. */
  constructor(
    ref: ClusterRef,
    readonly methodConfig: MethodConfig,
    private readonly pendingHash: PendingHash,
  ) {
    this.ref = ref.acquire();
    this.cluster = ref.childName;
  }

  requestHash(): bigint {
    return (this.hash ??= this.pendingHash.compute());
  }

  onCommitted(): void {
    this.ref.release();
  }

  createFilter(): Filter {
    return this;
  }

  sendMetadata<T>(metadata: T): T {
    return metadata;
  }

  receiveMetadata<T>(metadata: T): T {
    return metadata;
  }

  /** The host goes on to send a call that was cancelled before it was sent; its first message ends it here. */
  sendMessage<T>(message: Promise<T>): Promise<T> {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the host ends the call with whatever status object a filter rejects with
    return this.ended ? Promise.reject(CANCELLED) : message;
  }

  receiveMessage<T>(message: T): T {
    return message;
  }

  receiveTrailers(status: StatusObject): StatusObject {
    this.ended = true;
    this.ref.release();
    return status;
  }
}
