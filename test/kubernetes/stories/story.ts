import type { ServiceAccount } from '../cluster/install';
import type { TestCluster } from '../cluster/test-cluster';

/** What a story runs in. */
export interface StoryContext {
  readonly cluster: TestCluster;
  /** The account of the control plane. */
  readonly account: ServiceAccount;
  readonly isShort: boolean;
}

/** What came of a story. */
export interface StoryResult {
  /** What was measured, in words. */
  readonly facts: readonly string[];
  /** What is not as it should be. */
  readonly misses: readonly string[];
}

/** Something that happens in a cluster while calls are made. */
export interface Story {
  readonly name: string;
  /** Whether it is in the short form. */
  readonly isInShortForm: boolean;
  /** The language whose program of interop:cross it needs. Default: none. */
  readonly language?: string;
  run(context: StoryContext): Promise<StoryResult>;
}
