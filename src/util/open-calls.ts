import { getHeapStatistics } from 'node:v8';

/** What a call takes besides its headers: objects of Node.js, grpc-js and this package, rounded up from a measurement. */
const CALL_BYTES = 8192;
/** What a connection may take when little is left: a dozen calls with few headers. */
const FEW_CALLS_BYTES = 128 * 1024;
/** The part of the heap that open calls may take. */
const HEAP_PART = 1 / 2;
/** The part of that which is left to connections with few calls. */
const RESERVED_PART = 1 / 4;

/** A connection of a server, with what its open calls take. */
export interface ConnectionCalls {
  openBytes: number;
}

/** The memory of the open calls of servers. The last quarter of it is for connections that have few calls. */
export class OpenCalls {
  private free: number;
  private readonly reserved: number;

  /** @param bytes All that open calls may take together. */
  constructor(bytes: number) {
    this.free = bytes;
    this.reserved = bytes * RESERVED_PART;
  }

  /**
   * Counts a call until it is removed.
   * @param headerBytes The size of its headers.
   * @returns false if there is no room for it.
   */
  add(connection: ConnectionCalls, headerBytes: number): boolean {
    const bytes = CALL_BYTES + headerBytes;
    const free = this.free - bytes;
    const openBytes = connection.openBytes + bytes;
    if (free < (openBytes <= FEW_CALLS_BYTES ? 0 : this.reserved)) return false;
    this.free = free;
    connection.openBytes = openBytes;
    return true;
  }

  /** Called when a call that was added has ended. */
  remove(connection: ConnectionCalls, headerBytes: number): void {
    const bytes = CALL_BYTES + headerBytes;
    this.free += bytes;
    connection.openBytes -= bytes;
  }
}

/** Those of all servers of the process, which share its heap. */
export const openCallsOfProcess = new OpenCalls(getHeapStatistics().heap_size_limit * HEAP_PART);
