import { connect, type Socket } from 'node:net';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import { sanitizeText } from '../../util/text';
import { connectError, readSocket } from '../../util/unix-socket';
import { ClaimedPath, PathInUseError } from '../claimed-path';
import type { RelayState } from './share';

/** A relay in this process. */
export interface ServingRelay {
  stop(): Promise<void>;
  kill(): void;
}

/** Constructor options of an election. */
export interface RelayElectionOptions {
  readonly path: string;
  /** Makes the folder of the socket ready. @throws Error if it must not be used. Default: it is used as it is. */
  readonly prepareFolder?: (() => void) | undefined;
  /** Starts a relay on a path that was claimed, which it releases. */
  readonly serve: (claim: ClaimedPath) => Promise<ServingRelay>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Milliseconds over which the processes spread that have lost their relay. */
const SPREAD_MS = 25;
/**
 * After a connection that has lasted for less, they spread over twice the time, up to a maximum that leaves a takeover within a
 * second; in milliseconds.
 */
const LASTING_MS = 250;
const MAX_SPREAD_MS = 500;
/** Milliseconds until a socket that cannot be used is tried again. */
const RETRY_MS = 5000;
/** Milliseconds from the start of a relay until it first examines whether the path is its own, and between later times. */
const FIRST_CHECK_MS = 50;
const CHECK_MS = 500;

/**
 * The process that serves as the relay of a socket, as one process sees it. The socket itself is the lock: the process that
 * listens on it is the relay, and a connection that each of the others, and itself, hold to it ends at once with that process.
 * Nothing is sent on it. The first bytes from the relay, the settings of HTTP/2, show that it serves.
 */
export class RelayElection {
  private current: RelayState = { kind: 'electing' };
  private readonly watchers = new Set<() => void>();
  private phase: 'idle' | 'running' | 'stopped' = 'idle';
  private connection: Socket | undefined;
  private timer: Handle | undefined;
  private serving: Promise<ServingRelay> | undefined;
  private checkTimer: Handle | undefined;
  private spreadMs = SPREAD_MS;
  private reported: string | undefined;

  constructor(private readonly options: RelayElectionOptions) {}

  get state(): RelayState {
    return this.current;
  }

  /** Watches the state until the handle is released. */
  watch(onChanged: () => void): Handle {
    this.watchers.add(onChanged);
    return createHandle(() => this.watchers.delete(onChanged));
  }

  /** Finds the relay, or serves as it, until `stop`. */
  start(): void {
    if (this.phase !== 'idle') return;
    this.phase = 'running';
    this.join();
  }

  /** @returns A promise that is resolved when a relay of this process has reported its loads, or after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    if (this.phase === 'stopped') return;
    this.phase = 'stopped';
    this.timer?.release();
    this.checkTimer?.release();
    this.connection?.destroy();
    this.setState({ kind: 'unavailable', reason: 'shutdown() of grpc-xds was called' });
    const relay = await this.serving?.catch(() => undefined);
    if (relay === undefined) return;
    const keepsAlive = true;
    const timer = this.options.clock.setTimer(() => relay.kill(), timeoutMs, keepsAlive);
    await relay.stop();
    timer.release();
  }

  /** Connects to the relay; without one, serves as it. */
  private join(): void {
    const { path, prepareFolder } = this.options;
    try {
      prepareFolder?.();
      if (readSocket(path, 'own') === undefined) void this.claim();
      else this.connect(this.options.clock.monotonicMs());
    } catch (error) {
      this.giveUp(errorMessage(error));
    }
  }

  private connect(startedAtMs: number): void {
    const { path } = this.options;
    const connection = connect({ path }).unref();
    let failure: NodeJS.ErrnoException | undefined;
    this.connection = connection;
    connection.once('data', () => this.onReady());
    connection.on('error', (error) => (failure = error));
    connection.once('close', () => {
      if (this.phase === 'stopped') return;
      if (failure?.code === 'ECONNREFUSED' || failure?.code === 'ENOENT') void this.claim();
      // While more connections wait than the socket takes, as when many processes start at once, it is tried again.
      else if (failure?.syscall === 'connect' && failure.code !== 'EAGAIN')
        this.giveUp(errorMessage(connectError(path, failure)));
      else this.onLost(startedAtMs);
    });
    connection.resume();
  }

  private onReady(): void {
    this.setState({ kind: 'ready' });
    if (this.reported === undefined) return;
    this.reported = undefined;
    const { logger, path } = this.options;
    logger.info(() => sanitizeText(`relay ${path}: can be used again`), { event: 'recovered' });
  }

  private onLost(startedAtMs: number): void {
    const { clock, random } = this.options;
    const hasLasted = clock.monotonicMs() - startedAtMs >= LASTING_MS;
    this.spreadMs = hasLasted ? SPREAD_MS : Math.min(2 * this.spreadMs, MAX_SPREAD_MS);
    this.setState({ kind: 'electing' });
    this.joinLater(random() * this.spreadMs);
  }

  private joinLater(delayMs: number): void {
    this.timer?.release();
    this.timer = this.options.clock.setTimer(() => this.join(), delayMs);
  }

  private async claim(): Promise<void> {
    const { path, random } = this.options;
    try {
      const claim = await ClaimedPath.claim(path);
      if (this.phase === 'stopped') claim.release();
      else this.serve(claim);
    } catch (error) {
      if (this.phase === 'stopped') return;
      if (error instanceof PathInUseError) this.joinLater(random() * SPREAD_MS);
      else this.giveUp(errorMessage(error));
    }
  }

  /** Serves, and connects to the relay as the other processes do. */
  private serve(claim: ClaimedPath): void {
    const { serve, logger, path } = this.options;
    logger.info(() => sanitizeText(`relay ${path}: is served by this process (${process.pid})`));
    this.join();
    const serving = serve(claim);
    this.serving = serving;
    this.checkLater(claim, FIRST_CHECK_MS);
    serving.catch((error: unknown) => {
      this.leave(claim);
      this.connection?.removeAllListeners('close').destroy();
      if (this.phase !== 'stopped') this.giveUp(errorMessage(error));
    });
  }

  private checkLater(claim: ClaimedPath, delayMs: number): void {
    this.checkTimer = this.options.clock.setTimer(() => {
      if (claim.isOurs()) {
        this.checkLater(claim, CHECK_MS);
        return;
      }
      const { serving } = this;
      this.leave(claim);
      void serving?.then((relay) => relay.stop()).catch(() => undefined);
    }, delayMs);
  }

  private leave(claim: ClaimedPath): void {
    this.checkTimer?.release();
    this.serving = undefined;
    claim.release();
  }

  /** Uses no relay until it is tried again: the process uses its management servers. */
  private giveUp(reason: string): void {
    const { logger, random, path } = this.options;
    this.joinLater(RETRY_MS * (0.5 + random()));
    if (this.current.kind !== 'unavailable' || this.current.reason !== reason) {
      this.setState({ kind: 'unavailable', reason });
    }
    if (this.reported === reason) return;
    this.reported = reason;
    const text = `relay ${path}: cannot be used: ${reason}; this process uses its management servers directly: see docs/guides/several-processes.md`;
    logger.error(() => sanitizeText(text), { event: 'relay-failed', error: reason });
  }

  private setState(state: RelayState): void {
    this.current = state;
    for (const onChanged of [...this.watchers]) onChanged();
  }
}
