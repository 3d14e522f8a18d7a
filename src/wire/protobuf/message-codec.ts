import { type BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import type { ReadBudget } from '../../util/read-budget';
import { copyMessage, propertiesOf, writeMessage } from './write-message';
import { parseFieldTable } from './field-table';
import type { MessageLayout, MessageType } from './field-table';
import { readMessage } from './read-message';

type Builtin = Uint8Array | string | number | boolean | bigint | undefined;

/** A message of which any properties may be left out. */
export type DeepPartial<T> = T extends bigint
  ? string | number | bigint
  : T extends Builtin
    ? T
    : T extends readonly (infer U)[]
      ? readonly DeepPartial<U>[]
      : T extends ReadonlyMap<infer K, infer V>
        ? ReadonlyMap<K, DeepPartial<V>>
        : T extends { $case: string; value: unknown }
          ? { $case: T['$case']; value?: DeepPartial<T['value']> }
          : { [K in keyof T]?: DeepPartial<T[K]> };

/**
 * Reads and writes the messages of one type, by a table of its fields. Of a type that a process does not use, the
 * table is never parsed.
 */
export class MessageCodec<T> implements MessageType<T> {
  private parsed: MessageLayout | undefined;

  /**
   * @param table See `parseFieldTable`.
   * @param construct See `MessageType`.
   * @param types Returns the types of the fields that are messages, in order.
   */
  constructor(
    private readonly table: string,
    readonly construct: (values: unknown[], start: number) => T,
    private readonly types?: () => readonly MessageType[],
  ) {}

  get layout(): MessageLayout {
    return (this.parsed ??= parseFieldTable(this.table, this.types?.() ?? []));
  }

  encode(message: T, writer: BinaryWriter = new BinaryWriter()): BinaryWriter {
    return writeMessage(writer, this.layout, propertiesOf(message));
  }

  /**
   * @param length Of the message, which begins at the position of the reader. Default: all there is.
   * @param budget From which its fields are taken. Default: 4,000,000 fields.
   * @throws ReadLimitError when it has more fields than that, or a text that is too long.
   * @throws when the message is malformed.
   */
  decode(input: BinaryReader | Uint8Array, length?: number, budget?: ReadBudget): T {
    return readMessage(this, input, length, budget);
  }

  /** Returns a decoder that passes over some properties, without looking into them: they have their defaults. */
  decoderWithout(...names: readonly (keyof T)[]): Pick<MessageCodec<T>, 'decode'> {
    const { construct } = this;
    const layout = this.layout.without(new Set(names));
    return {
      decode: (input, length, budget) => readMessage({ layout, construct }, input, length, budget),
    };
  }

  /** Creates a message with defaults for what is left out. */
  create(base?: DeepPartial<T>): T {
    return base === undefined ? copyMessage(this, {}) : this.fromPartial(base);
  }

  /** Copies a message, with defaults for what is left out. */
  fromPartial(object: DeepPartial<T>): T {
    return copyMessage(this, propertiesOf(object));
  }
}
