/** What is known of a field: that it is not used, or which fields are in it. */
export type Field =
  | { readonly kind: 'unused'; readonly name: string }
  /** A text that may be used in part. `describe` returns what is not used of it; `undefined` if there is nothing. */
  | {
      readonly kind: 'text';
      readonly name: string;
      readonly describe: (text: string) => string | undefined;
    }
  | {
      readonly kind: 'message';
      readonly name: string;
      readonly isRepeated: boolean;
      readonly fields: Fields;
    }
  /** A message inside an `Any`, which is looked into if it has the type. */
  | {
      readonly kind: 'any';
      readonly name: string;
      readonly typeUrl: string;
      readonly fields: Fields;
    };

/** The fields of a message that are unused or have such fields in them, by number. */
export type Fields = ReadonlyMap<number, Field>;

/** Returns the fields of a message. */
export function fieldsOf(...lists: readonly (readonly (readonly [number, Field])[])[]): Fields {
  return new Map(lists.flat());
}

/** Returns fields that are not used, by name. */
export function unused(
  byName: Readonly<Record<string, number>>,
): readonly (readonly [number, Field])[] {
  return Object.entries(byName).map(([name, number]) => [number, { kind: 'unused', name }]);
}

/** Returns a field that is a message. */
export function single(number: number, name: string, fields: Fields): readonly [number, Field] {
  return [number, { kind: 'message', name, isRepeated: false, fields }];
}

/** Returns a field that is a list of messages. */
export function repeated(number: number, name: string, fields: Fields): readonly [number, Field] {
  return [number, { kind: 'message', name, isRepeated: true, fields }];
}
