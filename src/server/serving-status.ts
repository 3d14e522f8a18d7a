import type { ServerClient } from '../runtime/server-client';
import { diagnostics } from '../xds-client/diagnostics';
import { describeResource } from '../xds-client/xds-errors';
import { XdsError } from '../util/xds-error';
import type { LiteralAddress } from './literal-address';
import type { ServingStateListener } from './xds-server-options';

/** The callback of `bindAsync`. */
export type BindCallback = (error: Error | null, port: number) => void;

/** An address, and what is notified of its state. */
export interface ServingStatusOptions {
  readonly address: LiteralAddress;
  readonly listenerName: string;
  readonly client: Pick<ServerClient, 'bootstrap' | 'clock' | 'logger'>;
  /** Does not throw. */
  readonly onState: ServingStateListener;
}

/** Whether an address is served (gRFC A36). Each change is logged and published, and notified to the application. */
export class ServingStatus {
  /** Why the address is not served; `undefined` if it is. */
  notServing: string | undefined;
  /** When the state began, in milliseconds since the epoch. */
  sinceMs: number;
  /** Of those who wait until the address is served for the first time. */
  private readonly callbacks = new Set<BindCallback>();
  private wasServed = false;
  private hasFailed = false;

  constructor(private readonly options: ServingStatusOptions) {
    const listener = describeResource({ typeName: 'Listener', name: options.listenerName });
    this.notServing = `${listener}: not received yet`;
    this.sinceMs = options.client.clock.now();
  }

  /** Calls the callback when the address is served for the first time, or is closed before that. */
  whenServed(callback: BindCallback): void {
    const { address, client } = this.options;
    if (this.wasServed) client.clock.soon(() => callback(null, address.port));
    else this.callbacks.add(callback);
  }

  onServing(): void {
    const { address, listenerName: name, client, onState } = this.options;
    const event = this.hasFailed ? 'serving-recovered' : 'serving';
    this.hasFailed = false;
    client.logger.info(() => `server ${address.text}: serving by Listener "${name}"`, {
      event,
      name,
    });
    this.set(undefined);
    onState(address.text, 'SERVING', undefined);
    this.wasServed = true;
    this.settle((callback) => callback(null, address.port));
  }

  onNotServing(reason: string): void {
    const { address, listenerName: name, client, onState } = this.options;
    this.hasFailed = true;
    client.logger.error(() => `server ${address.text}: not serving: ${reason}`, {
      event: 'serving-failed',
      name,
      error: reason,
    });
    this.set(reason);
    onState(address.text, 'NOT_SERVING', new XdsError('XDS_NOT_SERVED', reason));
  }

  /** Handles that the address cannot be served any more, which the application has asked for. */
  onClosed(reason: string): void {
    const subject = `bindAsync(): ${this.options.address.text}`;
    const error = new XdsError('XDS_NOT_SERVED', `${subject}: ${reason} before it was served`);
    this.set(reason);
    this.settle((callback) => callback(error, 0));
  }

  private set(notServing: string | undefined): void {
    const { address, listenerName: name, client } = this.options;
    const isChange = (notServing === undefined) !== (this.notServing === undefined);
    if (isChange) this.sinceMs = client.clock.now();
    this.notServing = notServing;
    const { servingState } = diagnostics;
    if (!servingState.hasSubscribers) return;
    servingState.publish({
      nodeId: client.bootstrap.node.id,
      address: address.text,
      name,
      error: notServing,
      state: notServing === undefined ? 'SERVING' : 'NOT_SERVING',
    });
  }

  /** Each callback has its own turn: what it throws is the application's to handle. */
  private settle(act: (callback: BindCallback) => void): void {
    const callbacks = [...this.callbacks];
    this.callbacks.clear();
    for (const callback of callbacks) this.options.client.clock.soon(() => act(callback));
  }
}
