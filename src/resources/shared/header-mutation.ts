import type { StringMatcher } from '../matching/string-matcher';

/** What happens to a header that is added. */
export type AppendAction = 'append' | 'add-if-absent' | 'overwrite-or-add' | 'overwrite';

/** A header that is added. */
export interface AddedHeader {
  readonly kind: 'add';
  readonly name: string;
  /** Bytes if the name ends in `-bin`. */
  readonly value: string | Buffer;
  readonly action: AppendAction;
}

/** One change of the headers of a call. */
export type HeaderMutation =
  | AddedHeader
  | { readonly kind: 'remove'; readonly name: string }
  /** Removes the headers with these names. */
  | { readonly kind: 'remove-matching'; readonly names: StringMatcher };

/** The changes of one place, each list in order. */
export interface HeaderMutations {
  readonly request: readonly HeaderMutation[];
  readonly response: readonly HeaderMutation[];
}
