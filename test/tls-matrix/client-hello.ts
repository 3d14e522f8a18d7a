const SERVER_NAME_EXTENSION = 0;
/** Of the record, of the message, and of version and random number. */
const FIXED_LENGTH = 5 + 4 + 2 + 32;

/** Reads the server name in a ClientHello (RFC 8446, 4.1.2; RFC 6066, 3). @returns empty text if there is none. */
export function readServerName(bytes: Buffer): string {
  const reader = new Reader(bytes, FIXED_LENGTH);
  reader.skip(reader.number(1)); // session id
  reader.skip(reader.number(2)); // cipher suites
  reader.skip(reader.number(1)); // compression methods
  reader.skip(2);
  while (reader.hasMore) {
    const type = reader.number(2);
    const length = reader.number(2);
    if (type !== SERVER_NAME_EXTENSION) {
      reader.skip(length);
      continue;
    }
    reader.skip(3); // the length of the list, and the type of its only entry
    return reader.text(reader.number(2));
  }
  return '';
}

/** Reads numbers and texts from a buffer; what is beyond its end is zero. */
class Reader {
  constructor(
    private readonly bytes: Buffer,
    private offset: number,
  ) {}

  get hasMore(): boolean {
    return this.offset < this.bytes.length;
  }

  number(length: number): number {
    const part = this.bytes.subarray(this.offset, this.offset + length);
    this.offset += length;
    return part.reduce((sum, byte) => sum * 256 + byte, 0);
  }

  text(length: number): string {
    this.offset += length;
    return this.bytes.toString('latin1', this.offset - length, this.offset);
  }

  skip(length: number): void {
    this.offset += length;
  }
}
