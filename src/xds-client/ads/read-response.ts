import type { ResourceEvent } from '../resource-state';

/** The content of a response. All names are canonical, and of requested resources. */
export interface ReadResponse {
  /** The events of the resources that it contains, by name. */
  readonly events: ReadonlyMap<string, ResourceEvent<unknown>>;
  /** Resources that do not exist. */
  readonly removed: readonly string[];
  /** Resources with a heartbeat that are not cached: the server believes that they are. */
  readonly lost: ReadonlySet<string>;
  /** Everything that is wrong with the response; each says which resource it is about. Empty means accepted. */
  readonly violations: readonly string[];
  /** How many resources are not valid. */
  readonly invalid: number;
  /** Whether a resource that is left out is thereby said not to exist. */
  readonly isComplete: boolean;
}
