import type { Node } from '../wire/generated/envoy/config/core/v3/base';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import type { Serializer } from '../util/serializer';
import type { Budgets } from './budgets';
import type { ChangeHistory } from './change-history';
import type { ClientEvents } from './client-snapshot';
import type { ParseResourceName } from './resource-name';
import type { CertificateProviders } from './resource-type';
import type { XdsTransportFactory } from './transport';

/** What the clients of one bootstrap share. */
export interface ClientContext {
  /** Identifies this process to management servers. */
  readonly node: Node;
  /** Everything runs in it. */
  readonly serializer: Serializer;
  /** When the response was received whose effects are in the serializer, on the monotonic clock; `undefined` if none is. */
  receivedAtMs: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly events: ClientEvents;
  /** The last changes of the resources of every client. */
  readonly history: ChangeHistory;
  /** The time spent in the serializer is taken from them. */
  readonly budgets: Budgets;
  readonly transportFactory: XdsTransportFactory;
  readonly certificateProviders: CertificateProviders;
  /** Parses the names of resources. */
  readonly parseName: ParseResourceName;
  /** Keys of servers that were found not to have the incremental variant of the protocol; added to. */
  readonly withoutDelta: Set<string>;
  /** Whether calls fail or wait for want of a change: see `XdsClient.hurry`. */
  readonly isAwaited: boolean;
}
