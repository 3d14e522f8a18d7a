// Bounds on what the processes of a cluster send each other. See docs/limits.md.

/** Bytes of one message of IPC: a message of the xDS protocol is sent in parts, between which other messages have their turn. */
export const MAX_CHUNK_BYTES = 64 * 1024;
/** Bytes that one side of a stream sends before the other has taken them. */
export const WINDOW_BYTES = 256 * 1024;
/** Bytes that each part counts for besides its own, so that empty ones are bounded, too. */
const CHUNK_OVERHEAD_BYTES = 256;

/** Returns what a part counts for in the window. */
export function costOf(chunk: Uint8Array): number {
  return chunk.length + CHUNK_OVERHEAD_BYTES;
}
/** Open streams of one process to the relay in the primary of node:cluster. */
export const MAX_STREAMS_OF_PROCESS = 256;
