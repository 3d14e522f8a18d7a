import type { Socket } from 'node:net';
import { systemLoop, type Clock, type EventLoop } from './clock';
import type { LocalEnd } from './closed-connections';
import type { Handle } from './handle';

/** Milliseconds spent on failed handshakes of one address from which on its next connections wait. */
export const COSTLY_MS = 250;
/** Milliseconds of a turn that are usual for each handshake, on slow machines, too. */
const USUAL_MS = 5;
/** Milliseconds after which the CPU time is read again, so that what is put down to handshakes has at most so much more in it. */
const CPU_AGE_MS = 100;
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
  /** The bytes that had been read when the cost was looked at last. */
  bytes: number;
  /** What was spent in the turns in which it was read from. */
  costMs: number;
}

/** The handshakes of an address that go on, and what those took that have failed meanwhile. */
interface Source {
  readonly handshakes: Set<Handshake>;
  failedMs: number;
}

/**
 * Measures how long TLS handshakes that fail block the process. OpenSSL works on them inside the I/O of the event loop, before any
 * JavaScript runs: what a turn took up to the end of its I/O is put down to the handshakes that were read from meanwhile. Calls are
 * handled in the same I/O, so this may be too much: a handshake that succeeds costs nothing.
 */
export class HandshakeCosts {
  /** By address. */
  private readonly sources = new Map<string, Source>();
  /** What the loop had been active when it was looked at last. */
  private activeMs = 0;
  /** When the CPU time was read last. */
  private cpu = { ms: 0, atMs: -Infinity };
  private isWatching = false;
  private timer: Handle | undefined;

  constructor(
    private readonly clock: Pick<Clock, 'setTimer' | 'monotonicMs'>,
    private readonly onCostly: (costly: CostlyHandshakes) => void,
    private readonly loop: EventLoop = systemLoop,
  ) {}

  /** Returns the number of connections of an address that are in their handshakes. */
  count(address: string): number {
    return this.sources.get(address)?.handshakes.size ?? 0;
  }

  /** Handles the begin of a handshake. @returns what is to be called at its end, and whether it has succeeded. */
  begin(socket: HandshakeSocket, address: string): (isSecured: boolean) => void {
    const { localAddress, localPort, bytesRead } = socket;
    const local = { localAddress, localPort };
    const handshake = { socket, bytes: bytesRead, costMs: 0 };
    const source = this.sources.get(address) ?? { handshakes: new Set(), failedMs: 0 };
    this.sources.set(address, source);
    source.handshakes.add(handshake);
    if (!this.isWatching) {
      this.activeMs = this.loop.activeMs();
      this.refreshCpu();
      this.watch();
    }
    return (isSecured) => {
      if (!source.handshakes.has(handshake)) return;
      this.look();
      source.handshakes.delete(handshake);
      if (source.handshakes.size === 0) this.sources.delete(address);
      if (isSecured) return;
      source.failedMs += handshake.costMs;
      if (source.failedMs < COSTLY_MS) return;
      const costMs = source.failedMs;
      source.failedMs = 0;
      this.onCostly({ source: address, costMs, local, closed: close(source.handshakes) });
    };
  }

  private watch(): void {
    this.isWatching = true;
    this.loop.afterIo(() => {
      this.look();
      this.isWatching = false;
      if (this.sources.size === 0) return;
      this.watch();
      // Other timers and immediates run before the next I/O: one timer among them is enough to leave them out.
      this.timer ??= this.clock.setTimer(() => {
        this.timer = undefined;
        this.activeMs = this.loop.activeMs();
      }, 1);
    });
  }

  private look(): void {
    const beforeMs = this.activeMs;
    this.activeMs = this.loop.activeMs();
    const activeMs = this.activeMs - beforeMs;
    const read = [...this.sources.values()].flatMap(({ handshakes }) => takeRead(handshakes));
    if (activeMs <= USUAL_MS * read.length || read.length === 0) return this.refreshCpu();
    // Other threads take CPU, too, and a process that gets none is active, too.
    const costMs = Math.min(this.takeCpu(), activeMs) / read.length - USUAL_MS;
    for (const handshake of read) handshake.costMs += Math.max(0, costMs);
  }

  private refreshCpu(): void {
    if (this.clock.monotonicMs() - this.cpu.atMs >= CPU_AGE_MS) this.takeCpu();
  }

  /** Returns the CPU time since it was read last. */
  private takeCpu(): number {
    const { ms } = this.cpu;
    this.cpu = { ms: this.loop.cpuMs(), atMs: this.clock.monotonicMs() };
    return this.cpu.ms - ms;
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

/** Closes connections. @returns how many were open. */
function close(handshakes: ReadonlySet<Handshake>): number {
  let count = 0;
  for (const { socket } of handshakes) {
    if (socket.destroyed) continue;
    socket.destroy();
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
