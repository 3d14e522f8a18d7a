/** A bound on the fields of encoded messages that are read. */
export interface ReadLimit {
  /** The number of fields: every occurrence counts, of unknown fields too, and each number of a packed list. */
  readonly maxFields: number;
  /** What has so many at most, such as `resource`; it follows "in one" in the error. */
  readonly scope: string;
}

/** What is read without a budget: messages of the application, of files, and of servers that commands ask. */
export const DEFAULT_LIMIT: ReadLimit = { maxFields: 4_000_000, scope: 'message' };

/** Bytes of a text that count as one field more: what is done with texts takes time by their length. */
export const TEXT_BYTES_PER_FIELD = 64;

/**
 * How many fields may still be read, before objects are made of them: a few bytes on the wire become an object of a hundred.
 * A budget within another one takes from both.
 */
export class ReadBudget {
  private spent = 0;

  constructor(
    private readonly limit: ReadLimit,
    private readonly parent?: ReadBudget,
  ) {}

  /** Number of fields that were read. */
  get used(): number {
    return this.spent;
  }

  /** Number of fields that may still be read. */
  get left(): number {
    const left = this.limit.maxFields - this.spent;
    return this.parent === undefined ? left : Math.min(left, this.parent.left);
  }

  /** The budget around this one; this one if there is none. */
  get whole(): ReadBudget {
    return this.parent ?? this;
  }

  /** Takes a number of fields that were read, but not more than are left. */
  spend(fields: number): void {
    this.spent += fields;
    this.parent?.spend(fields);
  }

  /** Takes a number of fields. @returns false if fewer were left; then none is. */
  take(fields: number): boolean {
    const { left } = this;
    this.spend(Math.min(fields, left));
    return fields <= left;
  }

  /** Starts again for the next message, as far as the budget around it reaches. */
  renew(): void {
    this.spent = 0;
  }

  /** Describes the limit of which the least is left. */
  describeLimit(): string {
    const { limit, parent, spent } = this;
    if (parent !== undefined && parent.left < limit.maxFields - spent)
      return parent.describeLimit();
    return `more than ${limit.maxFields} fields in one ${limit.scope}`;
  }
}

/** Thrown by reading a message that exceeds a bound. Nothing of the message is kept. */
export class ReadLimitError extends Error {
  override readonly name = 'ReadLimitError';

  /**
   * @param path The field in which the bound is exceeded, as in the schema, such as `virtual_hosts.routes`; empty if it is not
   * known.
   * @param reason Names the bound and its value.
   */
  constructor(
    readonly path: string,
    readonly reason: string,
  ) {
    super(path === '' ? reason : `${path}: ${reason}`);
  }
}
