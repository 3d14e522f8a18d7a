import type { Clock } from '../../../../src/util/clock';
import { inSeconds } from '../../../../src/util/duration';
import { errorMessage } from '../../../../src/util/errors';
import { createHandle, type Handle } from '../../../../src/util/handle';
import type { Logger } from '../../../../src/util/logger';
import type { Random } from '../../../../src/util/random';
import { sanitizeText } from '../../../../src/util/text';
import { readSocket } from '../../../../src/util/unix-socket';
import { ClaimedPath, PathInUseError } from '../claimed-path';
import type { KnownRelay } from '../relay-identity';
import { describeOtherUpstream } from '../upstream';
import { RelayLink, type LinkEnd } from './relay-link';
import { afterRunning } from '../../../../src/util/running-time';

/** Whether there is a relay at the moment. A new object with each relay. */
export type RelayState =
  /** It is being looked for. */
  | { readonly kind: 'electing' }
  | { readonly kind: 'ready'; readonly relay: KnownRelay }
  /** There is none, and this process cannot be one. */
  | { readonly kind: 'unavailable'; readonly reason: string };

/** A relay in this process. */
export interface ServingRelay {
  /** How many discovery streams of clients there are. */
  readonly clientCount: number;
  stop(): Promise<void>;
  kill(): void;
}

/** The part of this process in an election. */
export interface ElectionReport {
  readonly state: RelayState;
  readonly role: 'relay' | 'client' | 'none';
  /** How many times another relay has been found in the place of an earlier one. */
  readonly takeovers: number;
  /** The management servers of this process. */
  readonly upstream: string;
  /** When the relay was found, in milliseconds since 1970; `undefined` until one is. */
  readonly readyAtMs: number | undefined;
  /** The discovery streams of clients of a relay of this process; `undefined` if it is none. */
  readonly clients: number | undefined;
}

/** Constructor options of an election. */
export interface RelayElectionOptions {
  readonly path: string;
  /** Makes the folder of the socket ready. @throws Error if it must not be used. Default: it is used as it is. */
  readonly prepareFolder?: (() => void) | undefined;
  /** The management servers of this process: see `describeUpstream`. A relay with other ones is not used. */
  readonly upstream: string;
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
/**
 * How long a relay is looked for before the management servers are used, in milliseconds: the process that serves may start
 * together with many others.
 */
const PATIENCE_MS = 5000;
/** Milliseconds from the start of a relay until it first examines whether the path is its own, and between later times. */
const FIRST_CHECK_MS = 50;
const CHECK_MS = 500;

/**
 * The process that serves as the relay of a socket, as one process sees it. The socket itself is the lock: the process that
 * listens on it is the relay, and a connection that each of the others, and itself, hold to it ends at once with that process.
 * The relay says on it what it is; whatever does not is no relay, and after `PATIENCE_MS` the process does without one.
 */
export class RelayElection {
  private current: RelayState = { kind: 'electing' };
  private readonly watchers = new Set<() => void>();
  private phase: 'idle' | 'running' | 'stopped' = 'idle';
  private link: RelayLink | undefined;
  private timer: Handle | undefined;
  private patienceTimer: Handle | undefined;
  private seenCount = 0;
  private readyAtMs: number | undefined;
  private serving: Promise<ServingRelay> | undefined;
  /** The same once it has started. */
  private served: ServingRelay | undefined;
  private checkTimer: Handle | undefined;
  private spreadMs = SPREAD_MS;
  private reported: string | undefined;

  constructor(private readonly options: RelayElectionOptions) {}

  get state(): RelayState {
    return this.current;
  }

  /** Describes the relay and the part of this process in it. */
  describe(): ElectionReport {
    const { current: state, seenCount } = this;
    const isServing = state.kind === 'ready' && this.serving !== undefined;
    const role = isServing ? 'relay' : state.kind === 'ready' ? 'client' : 'none';
    const takeovers = Math.max(0, seenCount - 1);
    const clients = role === 'relay' ? this.served?.clientCount : undefined;
    const { readyAtMs } = this;
    return { state, role, takeovers, readyAtMs, clients, upstream: this.options.upstream };
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
    this.lookForRelay();
    this.join();
  }

  /** @returns A promise that is resolved when a relay of this process has reported its loads, or after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    if (this.phase === 'stopped') return;
    this.phase = 'stopped';
    this.timer?.release();
    this.checkTimer?.release();
    this.patienceTimer?.release();
    this.link?.close();
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
    this.link = new RelayLink(this.options.path, {
      onIdentified: (relay) => this.onIdentified(relay),
      onEnd: (end) => this.onEnd(end, startedAtMs),
    });
  }

  private onIdentified(relay: KnownRelay): void {
    const { logger, path, upstream } = this.options;
    if (relay.upstream !== undefined && relay.upstream !== upstream) {
      this.link?.close();
      const others = describeOtherUpstream(relay.upstream, upstream);
      this.giveUp(`${path}: the relay (pid ${relay.pid}) ${others}: choose another path`);
      return;
    }
    this.patienceTimer?.release();
    this.seenCount++;
    this.readyAtMs = this.options.clock.now();
    this.setState({ kind: 'ready', relay });
    if (this.reported === undefined) return;
    this.reported = undefined;
    logger.info(() => sanitizeText(`relay ${path}: can be used again`), { event: 'recovered' });
  }

  private onEnd(end: LinkEnd, startedAtMs: number): void {
    if (this.phase === 'stopped') return;
    if (end.kind === 'absent') void this.claim();
    else if (end.kind === 'unusable') this.giveUp(end.reason);
    else this.onLost(startedAtMs);
  }

  private onLost(startedAtMs: number): void {
    const { clock, random } = this.options;
    const hasLasted = clock.monotonicMs() - startedAtMs >= LASTING_MS;
    const maxMs = this.current.kind === 'unavailable' ? RETRY_MS : MAX_SPREAD_MS;
    this.spreadMs = hasLasted ? SPREAD_MS : Math.min(2 * this.spreadMs, maxMs);
    if (this.current.kind === 'ready') this.lookForRelay();
    this.joinLater(random() * this.spreadMs);
  }

  /** Waits for a relay, for a while. */
  private lookForRelay(): void {
    const { clock, path } = this.options;
    this.setState({ kind: 'electing' });
    this.patienceTimer?.release();
    const onOver = () => {
      const reason = `${path}: nothing has answered as a relay within ${inSeconds(PATIENCE_MS)}`;
      // What is under way goes on: the process that listens may be blocked.
      if (this.current.kind === 'electing') this.setUnavailable(reason);
    };
    this.patienceTimer = afterRunning(clock, onOver, PATIENCE_MS);
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
    const onStarted = (relay: ServingRelay) => {
      // It may have lost the path meanwhile.
      if (this.serving === serving) this.served = relay;
    };
    serving.then(onStarted).catch((error: unknown) => {
      this.leave(claim);
      this.link?.close();
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
    this.served = undefined;
    claim.release();
  }

  /** Uses no relay until it is tried again: the process uses its management servers. */
  private giveUp(reason: string): void {
    this.joinLater(RETRY_MS * (0.5 + this.options.random()));
    this.setUnavailable(reason);
  }

  private setUnavailable(reason: string): void {
    const { logger, path } = this.options;
    this.patienceTimer?.release();
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
