import type { Subject } from './subject';

/** One behaviour that a policy owes what is above it. Throws an `AssertionError` if the policy does not have it. */
export type Behaviour = readonly [name: string, check: (subject: Subject) => void | Promise<void>];
