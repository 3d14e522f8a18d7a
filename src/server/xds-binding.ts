import type { ServerCredentials } from '../grpc-js';
import type { ServerClient } from '../runtime/server-client';
import type { Handle } from '../util/handle';
import { describeServers } from '../xds-client/xds-errors';
import { BoundAddress } from './connections/bound-address';
import type { DrainOptions } from './connections/generation';
import type { CreateInjector, ServerLimits } from './connections/server-connection';
import { XdsListenerService } from './connections/xds-listener-service';
import { ListenerWatch } from './listener/listener-watch';
import { recordListenerName } from './listener-names';
import type { LiteralAddress } from './literal-address';
import { ObservedBinding } from './observation/observed-binding';
import { xdsFallbackOf } from './xds-server-credentials';
import type { ServingStateListener } from './xds-server-options';
import { XdsError } from '../util/xds-error';

/** The callback of `bindAsync`. */
export type BindCallback = (error: Error | null, port: number) => void;

/** Constructor options of a binding. */
export interface XdsBindingOptions {
  readonly address: LiteralAddress;
  readonly credentials: ServerCredentials;
  readonly listenerName: string;
  /** Released when the address is closed. */
  readonly client: ServerClient;
  readonly createInjector: CreateInjector;
  readonly limits: ServerLimits;
  /** Whether Node.js traces the TLS protocol. */
  readonly enableTrace: boolean;
  readonly drain: DrainOptions;
  /** Does not throw. */
  readonly onState: ServingStateListener;
  /** Called once, when it is closed: it cannot be served any more. */
  readonly onClosed: () => void;
  /** Called once, when it has been closed and its last connection has closed. */
  readonly onEnded: () => void;
}

/** An address to which a server is bound, with its part of the XdsClient of the process. */
export class XdsBinding {
  private readonly bound: BoundAddress;
  private readonly observed: ObservedBinding;
  private readonly named: Handle;
  /** Until the address is served for the first time. */
  private readonly pending = new Set<BindCallback>();
  private readonly onShutdown = () => {
    this.close('shutdown() of grpc-xds was called', this.options.drain);
  };
  private wasServed = false;
  private hasFailed = false;
  private isClosed = false;

  constructor(private readonly options: XdsBindingOptions) {
    const { address, listenerName: name, drain } = options;
    const { client, types, bootstrap, logger, clock, random } = options.client;
    this.named = recordListenerName(options);
    this.observed = new ObservedBinding(options, () => this.bound);
    const onEnded = () => {
      this.observed.release();
      options.onEnded();
    };
    const subject = `server ${address.text}: `;
    this.bound = new BoundAddress({
      address,
      subject,
      drain,
      onEnded,
      clock,
      logger,
      random,
      batch: client,
      watch: (watcher) =>
        new ListenerWatch({ client, types, bootstrap, name, address, clock, logger, watcher }),
      service: this.createService(subject),
      onState: (notServing) => {
        if (notServing === undefined) this.onServing();
        else this.onNotServing(notServing);
      },
    });
    options.client.shutdown.addEventListener('abort', this.onShutdown);
  }

  get credentials(): ServerCredentials {
    return this.options.credentials;
  }

  /** Calls the callback when the address is served for the first time, or is closed before that. */
  whenServed(callback: BindCallback): void {
    if (this.wasServed)
      this.options.client.clock.soon(() => callback(null, this.options.address.port));
    else this.pending.add(callback);
  }

  drain(options: DrainOptions): void {
    this.bound.drain(options);
  }

  /** Accepts no more connections, and ends those that there are. @param reason Such as `unbound`. */
  close(reason: string, drain: DrainOptions): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.options.onClosed();
    this.bound.close(drain);
    const { client } = this.options;
    client.shutdown.removeEventListener('abort', this.onShutdown);
    this.named.release();
    client.release();
    const subject = `grpc-xds: bindAsync(): ${this.options.address.text}`;
    const error = new XdsError('XDS_NOT_SERVED', `${subject}: ${reason} before it was served`);
    this.observed.onState(reason);
    this.settle((callback) => callback(error, 0));
  }

  /** As {@link close}, and closes the connections with their calls. */
  destroy(reason: string): void {
    this.close(reason, { graceMs: Infinity, jitterMs: 0 });
    this.bound.destroy();
  }

  private createService(subject: string): XdsListenerService {
    const { credentials, createInjector, limits, enableTrace, client, listenerName } = this.options;
    const { certificates, httpFilters, bootstrap, types, random, meter, clock, logger } = client;
    const { text: address } = this.options.address;
    const origin = describeServers(bootstrap, listenerName, types.listener.typeUrl);
    const routing = { origin, random, meter };
    return new XdsListenerService({
      credentials,
      createInjector,
      limits,
      enableTrace,
      subject,
      certificates,
      routing,
      clock,
      logger,
      address,
      counts: this.observed.counts,
      fallback: xdsFallbackOf(credentials),
      registry: httpFilters,
    });
  }

  private onServing(): void {
    const { address, listenerName: name, client } = this.options;
    const event = this.hasFailed ? 'serving-recovered' : 'serving';
    this.hasFailed = false;
    client.logger.info(() => `server ${address.text}: serving by Listener "${name}"`, {
      event,
      name,
    });
    this.observed.onState(undefined);
    this.options.onState(address.text, 'SERVING', undefined);
    this.wasServed = true;
    this.settle((callback) => callback(null, address.port));
  }

  private onNotServing(reason: string): void {
    const { address, listenerName: name, client } = this.options;
    this.hasFailed = true;
    client.logger.error(() => `server ${address.text}: not serving: ${reason}`, {
      event: 'serving-failed',
      name,
      error: reason,
    });
    this.observed.onState(reason);
    this.options.onState(address.text, 'NOT_SERVING', new XdsError('XDS_NOT_SERVED', reason));
  }

  /** In turns of their own: an exception in a callback is that of the application. */
  private settle(act: (callback: BindCallback) => void): void {
    const callbacks = [...this.pending];
    this.pending.clear();
    const { clock } = this.options.client;
    for (const callback of callbacks) clock.soon(() => act(callback));
  }
}
