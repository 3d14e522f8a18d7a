import type { LbPolicyLookup, LbPolicyType } from '../../lb/lb-policy';
import type { XdsEndpoint } from '../../resources/endpoints/endpoints';
import type { Result } from '../../util/result';
import type { PartialUpdate } from '../lb-harness';

/** A policy and how to drive it. */
export interface LbPolicyContract {
  readonly type: LbPolicyType;
  /** What children are made of. */
  readonly policies?: readonly LbPolicyType[] | LbPolicyLookup;
  /**
   * An update with these endpoints, or with the error there is instead. Endpoints given as the same
   * objects must arrive as the same objects.
   */
  makeUpdate(endpoints: Result<readonly XdsEndpoint[], string>, note: string): PartialUpdate;
  /** What the config selector would tell the picker. */
  readonly attributes?: object;
  /** The headers of calls. */
  readonly headers?: ReadonlyMap<string, string>;
  /** How many picks it takes to have every endpoint connected to, if only picks do that; default 0. */
  readonly picksToConnect?: number;
  /** `false` if it waits in IDLE to be asked for a connection. */
  readonly connectsAtOnce: boolean;
  /** `false` if it settles for one endpoint. */
  readonly usesEveryEndpoint: boolean;
}
