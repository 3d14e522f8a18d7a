import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Logger } from '../util/logger';
import type { ClientEvents } from './client-events';
import { diagnostics, type ServerEvent } from './diagnostics';
import { inSeconds } from './xds-errors';

/** Constructor options of a server's health. */
export interface ServerHealthOptions {
  readonly server: ServerConfig;
  /** Names the server and the node in messages. */
  readonly description: string;
  readonly nodeId: string;
  readonly logger: Logger;
  readonly events: ClientEvents;
}

/** Whether a server is reachable, on each of its streams, in the log and for diagnostics. */
export class ServerHealth<K> {
  /** By stream, why the last attempt has failed, until the server answers. */
  private readonly failures = new Map<K, string>();
  private everAnswered = false;

  constructor(private readonly options: ServerHealthOptions) {}

  /** Why the server cannot be used now, as a sentence; `undefined` if no stream has failed. */
  get failure(): string | undefined {
    for (const failure of this.failures.values()) return failure;
    return undefined;
  }

  /** The same for one stream. */
  failureOf(stream: K): string | undefined {
    return this.failures.get(stream);
  }

  /** Handles that a stream has failed. @returns whether the reason is new: several streams on one connection fail alike. */
  onFailed(stream: K, reason: string, retryInMs: number): boolean {
    const { server, description, logger, events } = this.options;
    const failure = `${description} ${reason}`;
    const isKnown = [...this.failures.values()].includes(failure);
    const isFirst = this.failures.size === 0;
    this.failures.set(stream, failure);
    if (isFirst) events.onServerFailure(server);
    if (isKnown) return false;
    logger.error(() => `${failure}; next attempt in ${inSeconds(retryInMs)}`);
    if (diagnostics.serverFailed.hasSubscribers) {
      diagnostics.serverFailed.publish({ ...this.eventBase(), error: failure, retryInMs });
    }
    return true;
  }

  /** Handles that a stream works. @returns whether no other one is known to have failed. */
  onReachable(stream: K): boolean {
    const hadFailed = this.failures.delete(stream);
    if (this.failures.size > 0) return false;
    const { description, logger } = this.options;
    if (hadFailed) logger.info(() => `${description} answers again`);
    if ((hadFailed || !this.everAnswered) && diagnostics.serverConnected.hasSubscribers) {
      diagnostics.serverConnected.publish(this.eventBase());
    }
    this.everAnswered = true;
    return true;
  }

  private eventBase(): ServerEvent {
    const { server, nodeId } = this.options;
    return { nodeId, serverUri: server.serverUri };
  }
}
