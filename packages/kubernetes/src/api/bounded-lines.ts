import { ByteCollector } from '../../../../src/util/bytes';

/** Receives lines as they end. */
export interface LineListener {
  /** A line without its end; not called with an empty one. */
  onLine(text: string): void;
  /** A line is too long. The rest of it is skipped. */
  onLongLine(): void;
}

const NEWLINE = 0x0a;

/** Splits bytes that arrive in chunks into lines. What follows the last end of a line is never handed on. */
export class BoundedLines {
  private partial: ByteCollector | undefined;
  private isSkipping = false;

  constructor(
    private readonly maxBytes: number,
    private readonly listener: LineListener,
  ) {}

  /** @param isEnded Returns whether the rest of the chunk is of no use any more. */
  add(chunk: Buffer, isEnded: () => boolean): void {
    let start = 0;
    while (start < chunk.length && !isEnded()) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) {
        this.keep(chunk.subarray(start));
        return;
      }
      this.endLine(chunk.subarray(start, end));
      start = end + 1;
    }
  }

  /** @returns whether there is room for them. */
  private keep(bytes: Buffer): boolean {
    if (this.isSkipping) return false;
    this.partial ??= new ByteCollector(this.maxBytes, bytes.length);
    if (this.partial.add(bytes)) return true;
    this.partial = undefined;
    this.isSkipping = true;
    this.listener.onLongLine();
    return false;
  }

  private endLine(bytes: Buffer): void {
    // Most lines are in one chunk.
    const isWhole = this.partial === undefined && bytes.length <= this.maxBytes && !this.isSkipping;
    const hasLine = isWhole || this.keep(bytes);
    const line = this.partial?.bytes ?? bytes;
    this.partial = undefined;
    this.isSkipping = false;
    if (hasLine && line.length > 0) this.listener.onLine(line.toString('utf8'));
  }
}
