import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import { getHeapStatistics } from 'node:v8';

/** What a call takes besides its headers: objects of Node.js, grpc-js and this package, rounded up from a measurement. */
const CALL_BYTES = 8192;
/** What a connection may take when little is left: a dozen calls with few headers. */
const FEW_CALLS_BYTES = 128 * 1024;
/** The part of the heap that open calls may take. */
const HEAP_PART = 1 / 2;
/** The part of that which is left to connections with few calls. */
const RESERVED_PART = 1 / 4;

/** The memory of the open calls of servers. The last quarter of it is for connections that have few calls. */
export class OpenCalls {
  private free: number;
  private readonly reserved: number;
  private readonly taken = new WeakMap<Http2Session, number>();

  /** @param bytes All that open calls may take together. */
  constructor(bytes: number) {
    this.free = bytes;
    this.reserved = bytes * RESERVED_PART;
  }

  /** Counts a call until it ends. @param headerBytes The size of its headers. @returns false if there is no room for it. */
  add(session: Http2Session, stream: ServerHttp2Stream, headerBytes: number): boolean {
    const bytes = CALL_BYTES + headerBytes;
    const free = this.free - bytes;
    const taken = (this.taken.get(session) ?? 0) + bytes;
    if (free < (taken <= FEW_CALLS_BYTES ? 0 : this.reserved)) return false;
    this.free = free;
    this.taken.set(session, taken);
    stream.once('close', () => {
      this.free += bytes;
      this.taken.set(session, (this.taken.get(session) ?? 0) - bytes);
    });
    return true;
  }
}

/** Those of all servers of the process, which share its heap. */
export const openCallsOfProcess = new OpenCalls(getHeapStatistics().heap_size_limit * HEAP_PART);
