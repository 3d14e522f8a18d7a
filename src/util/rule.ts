/**
 * What an argument, an option or a member of a definition must be. The rules of a public type are a table beside it, which
 * `check-arguments` applies: nothing else decides what is accepted.
 */
export interface Rule {
  /** What is legal, as in `must be a string`. */
  readonly legal: string;
  readonly accepts: (value: unknown) => boolean;
  /** The rules of the members; others are refused. Default: members are not checked. */
  readonly members?: Members;
  /** Names of members that are checked elsewhere, if at all, for an error that names where they belong. */
  readonly names?: readonly string[];
  /** The rule of each element of a list, or of each value of an object with any keys. Default: they are not checked. */
  readonly each?: Rule;
  /** Whether `undefined` stands for a default. */
  readonly isOptional?: boolean;
  /** Whether the value may have a secret, so that it is not shown. */
  readonly isSecret?: boolean;
}

/** The rules of the members of an object, by name. */
export type Members = Readonly<Record<string, Rule>>;

/** The rules of a type: one for each of its members, so that one which is added there has to be added here. */
export type MembersOf<T> = Readonly<Record<keyof T & string, Rule>>;
