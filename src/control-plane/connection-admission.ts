import type { Socket } from 'node:net';
import { Allowance } from '../util/allowance';
import { inNextTurn, type Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import {
  MAX_ADMISSION_ADDRESSES,
  MAX_BEGUN_IN_TURN,
  MAX_UNPROVEN,
  MAX_UNPROVEN_OF_ADDRESS,
  UNPROVEN_MS,
  UNPROVEN_OF_ADDRESS_MS,
} from './limits';

const ALL = '';

/**
 * Bounds the work for connections of which no client has been authenticated yet, so that it does not delay those that have been: how
 * many are begun in a turn of the event loop, and how many there may be, in all and of one address. A connection counts until a client
 * of it is authenticated; one on which none is counts for a time. Those beyond are reset before anything of them is read.
 */
export class ConnectionAdmission {
  private readonly ofAddress = new Allowance({
    atOnce: MAX_UNPROVEN_OF_ADDRESS,
    everyMs: UNPROVEN_OF_ADDRESS_MS,
    maxSources: MAX_ADMISSION_ADDRESSES,
  });
  private readonly ofAll = new Allowance({
    atOnce: MAX_UNPROVEN,
    everyMs: UNPROVEN_MS,
    maxSources: 1,
  });
  /** The addresses of the connections without an authenticated client, by their peers. */
  private readonly unproven = new Map<string, string>();
  private readonly waiting = new Set<() => void>();
  private begun = 0;
  private turn: Handle | undefined;
  private resetCount = 0;

  constructor(private readonly clock: Pick<Clock, 'monotonicMs' | 'nextTurn' | 'setTimer'>) {}

  /** The number of connections that were reset. */
  get resets(): number {
    return this.resetCount;
  }

  /** Begins a connection now or in one of the next turns, or resets it. One of a Unix socket has no address, and is only begun later. */
  admit(socket: Socket, begin: () => void): void {
    const { remoteAddress, remotePort } = socket;
    if (remoteAddress !== undefined) {
      const peer = `${remoteAddress}:${remotePort}`;
      if (!this.take(peer, remoteAddress)) {
        this.resetCount++;
        socket.resetAndDestroy();
        return;
      }
      socket.once('close', () => this.unproven.delete(peer));
    }
    // Until it is begun, nothing else listens to it; it closes after an error.
    socket.on('error', () => {});
    socket.once('close', () => this.waiting.delete(begin));
    this.waiting.add(begin);
    this.beginWaiting();
  }

  /** Handles that a client of a connection was authenticated. */
  onAuthenticated(peer: string): void {
    const address = this.unproven.get(peer);
    if (address === undefined) return;
    this.unproven.delete(peer);
    this.ofAddress.giveBack(address);
    this.ofAll.giveBack(ALL);
  }

  private take(peer: string, address: string): boolean {
    const nowMs = this.clock.monotonicMs();
    if (!this.ofAddress.allows(address, nowMs) || !this.ofAll.allows(ALL, nowMs)) return false;
    this.ofAddress.take(address, nowMs);
    this.ofAll.take(ALL, nowMs);
    this.unproven.set(peer, address);
    return true;
  }

  private beginWaiting(): void {
    for (const begin of this.waiting) {
      if (this.begun >= MAX_BEGUN_IN_TURN) break;
      this.begun++;
      this.waiting.delete(begin);
      begin();
    }
    if (this.begun > 0) this.turn ??= inNextTurn(this.clock, () => this.onTurn());
  }

  private onTurn(): void {
    this.turn = undefined;
    this.begun = 0;
    this.beginWaiting();
  }
}
