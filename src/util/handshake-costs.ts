import type { Socket } from 'node:net';
import { systemLoop, type Clock, type EventLoop } from './clock';
import type { LocalEnd } from './closed-connections';
import type { Handle } from './handle';

/** Milliseconds of a turn of the event loop, spent on handshakes of one address, from which on its next connections wait. */
export const COSTLY_MS = 250;
/** Milliseconds of a turn that are usual for each handshake, on slow machines, too. */
const USUAL_MS = 5;
/** How many times as long as the handshakes took the connections wait at first; each further time doubles it. */
const FIRST_FACTOR = 5;
/** Milliseconds that they wait at most. */
export const MAX_DELAY_MS = 30_000;
/** Milliseconds for which an address is remembered after that. */
export const REMEMBERED_MS = 600_000;
/** Addresses that are remembered; the one that was delayed first is forgotten first. */
export const MAX_DELAYED_SOURCES = 1000;

/** The handshakes of an address that have blocked the process. */
export interface CostlyHandshakes {
  readonly source: string;
  readonly costMs: number;
  /** One of their connections. */
  readonly local: LocalEnd;
  /** How many connections of the address were closed in their handshakes, which might take as long. */
  readonly closed: number;
}

/** The socket of a connection, below TLS. */
type HandshakeSocket = Pick<Socket, 'bytesRead' | 'destroy' | 'destroyed'> & LocalEnd;

interface Handshake {
  readonly socket: HandshakeSocket;
  readonly source: string;
  readonly local: LocalEnd;
  /** The bytes that had been read when the cost was looked at last. */
  bytes: number;
}

/**
 * Measures how long TLS handshakes block the process. OpenSSL works on them inside the I/O of the event loop, before any JavaScript
 * runs: what a turn took up to the end of its I/O, or of a handshake, is put down to the handshakes that were read from meanwhile.
 */
export class HandshakeCosts {
  /** By address. */
  private readonly handshakes = new Map<string, Set<Handshake>>();
  private before: ReturnType<EventLoop['spent']>;
  private isWatching = false;
  private timer: Handle | undefined;

  constructor(
    private readonly clock: Pick<Clock, 'setTimer'>,
    private readonly onCostly: (costly: CostlyHandshakes) => void,
    private readonly loop: EventLoop = systemLoop,
  ) {
    this.before = loop.spent();
  }

  /** Returns the number of connections of an address that are in their handshakes. */
  count(source: string): number {
    return this.handshakes.get(source)?.size ?? 0;
  }

  /** Handles the begin of a handshake. @returns what is to be called at its end, or at that of the connection. */
  begin(socket: HandshakeSocket, source: string): () => void {
    const { localAddress, localPort, bytesRead } = socket;
    const handshake = { socket, source, local: { localAddress, localPort }, bytes: bytesRead };
    const ofSource = this.handshakes.get(source) ?? new Set();
    this.handshakes.set(source, ofSource.add(handshake));
    if (!this.isWatching) {
      this.before = this.loop.spent();
      this.watch();
    }
    return () => {
      if (!ofSource.has(handshake)) return;
      // Now: what its calls take in this turn is no cost of handshakes.
      this.look(handshake);
      ofSource.delete(handshake);
      if (ofSource.size === 0) this.handshakes.delete(source);
    };
  }

  private watch(): void {
    this.isWatching = true;
    this.loop.afterIo(() => {
      this.look();
      this.isWatching = false;
      if (this.handshakes.size === 0) return;
      this.watch();
      // Other timers and immediates run before the next I/O: one timer among them is enough to leave them out.
      this.timer ??= this.clock.setTimer(() => {
        this.timer = undefined;
        this.before = this.loop.spent();
      }, 1);
    });
  }

  /** @param ended The handshake that has just ended well: it is the cause only if no other was read from. */
  private look(ended?: Handshake): void {
    const { before } = this;
    this.before = this.loop.spent();
    // Other threads take CPU, too, and a process that gets none is active, too.
    const spentMs = Math.min(
      this.before.cpuMs - before.cpuMs,
      this.before.activeMs - before.activeMs,
    );
    const read = [...this.handshakes.values()].flatMap((ofSource) => takeRead(ofSource));
    const others = read.filter((handshake) => handshake !== ended);
    const causes = others.length > 0 ? others : read;
    const meanMs = spentMs / causes.length - USUAL_MS;
    for (const source of new Set(causes.map((handshake) => handshake.source))) {
      const ofSource = causes.filter((handshake) => handshake.source === source);
      const costMs = meanMs * ofSource.length;
      if (costMs < COSTLY_MS) continue;
      const [{ local } = { local: {} }] = ofSource;
      const closed = close(this.handshakes.get(source) ?? new Set(), ended);
      this.onCostly({ source, costMs, local, closed });
    }
  }
}

/** Returns the handshakes that were read from since this was called last. */
function takeRead(handshakes: ReadonlySet<Handshake>): Handshake[] {
  const read: Handshake[] = [];
  for (const handshake of handshakes) {
    const { bytesRead } = handshake.socket;
    if (bytesRead !== handshake.bytes) read.push(handshake);
    handshake.bytes = bytesRead;
  }
  return read;
}

/** Closes connections except one. @returns how many were open. */
function close(handshakes: ReadonlySet<Handshake>, except: Handshake | undefined): number {
  let count = 0;
  for (const handshake of handshakes) {
    if (handshake === except || handshake.socket.destroyed) continue;
    handshake.socket.destroy();
    count++;
  }
  return count;
}

/** How long the next connections of addresses wait. */
export class SourceDelays {
  /** The address that was delayed last at the end. */
  private readonly delays = new Map<string, { readonly factor: number; readonly endMs: number }>();

  /** Delays an address because of what its handshakes took. @returns Milliseconds. */
  add(source: string, costMs: number, nowMs: number): number {
    const known = this.leftMs(source, nowMs) === undefined ? undefined : this.delays.get(source);
    const factor = known === undefined ? FIRST_FACTOR : 2 * known.factor;
    const ms = Math.min(factor * costMs, MAX_DELAY_MS);
    this.delays.delete(source);
    this.delays.set(source, { factor, endMs: nowMs + ms });
    if (this.delays.size > MAX_DELAYED_SOURCES) {
      const [first] = this.delays.keys();
      if (first !== undefined) this.delays.delete(first);
    }
    return ms;
  }

  /** Returns the milliseconds that an address has to wait yet: 0 if it is only remembered, `undefined` if not even that. */
  leftMs(source: string, nowMs: number): number | undefined {
    const { endMs = -Infinity } = this.delays.get(source) ?? {};
    return nowMs < endMs + REMEMBERED_MS ? Math.max(0, endMs - nowMs) : undefined;
  }
}

/** Returns what the owner of an address cannot change at will: the network of 64 bits of an address of IPv6. */
export function sourceOf(address: string): string {
  const ipv4 = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (ipv4 !== undefined || !address.includes(':')) return ipv4 ?? address;
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':'));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  const groups = [...head, ...zeros, ...tail].slice(0, 4);
  return `${groups.map((group) => group || '0').join(':')}::/64`;
}
