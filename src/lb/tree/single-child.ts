import type { LbEndpoints } from '../endpoints/endpoint-set';
import { ConnectivityState, type Picker } from '../../grpc-js';
import type { LbConfig } from '../../resources/extension-points';
import { createFailurePicker, type PublishedPicker } from '../connectivity';
import type { LbContext, LbHost, LbPolicy } from '../lb-policy';
import type { AnyChild, ChildParent } from './child';
import type { Publication } from './lb-batch';
import type { ChildState, PolicyParts, StateDetails } from './policy-state';

/** A policy with one child, whose state it publishes, or a failure. */
export abstract class SingleChildPolicy<Config extends LbConfig>
  implements LbPolicy<Config>, ChildParent
{
  protected abstract readonly child: AnyChild;
  private readonly publication: Publication;
  private failure: string | undefined;
  /** The error of calls while there is a failure. */
  private details = '';

  constructor(readonly host: LbHost) {
    this.publication = host.environment.batch.createPublication(host.depth, this);
  }

  abstract update(config: Config, endpoints: LbEndpoints, context: LbContext): void;

  /** Publishes the state of the child, or the failure, at the end of the batch. */
  onStateChanged(): void {
    this.publication.request();
  }

  exitIdle(): void {
    this.child.exitIdle();
  }

  resetBackoff(): void {
    this.child.resetBackoff();
  }

  destroy(): void {
    this.publication.cancel();
    this.child.destroy();
  }

  describe(): PolicyParts {
    const child = this.child.describe();
    const details = this.describeDetails();
    if (child === undefined) return details === undefined ? {} : { details };
    const children = [this.describeChild(child)];
    return details === undefined ? { children } : { details, children };
  }

  publish(): void {
    const { child, failure, host } = this;
    if (failure === undefined) {
      const { picker, errorMessage } = this.adapt(child);
      host.updateState(child.state, picker, errorMessage);
    } else {
      const picker = createFailurePicker(this.details);
      host.updateState(ConnectivityState.TRANSIENT_FAILURE, picker, failure);
    }
  }

  /**
   * Fails picks instead of using the child; `undefined` uses the child again.
   *
   * @param details The error of calls. Default: the failure.
   * @returns Whether that is a change.
   */
  protected setFailure(failure: string | undefined, details = failure): boolean {
    if (failure === this.failure) return false;
    this.failure = failure;
    this.details = details ?? '';
    this.publication.request();
    return true;
  }

  /** Adds what the policy knows to the picker and the errors of the child. */
  protected adapt({ picker, errorMessage }: AnyChild): PublishedPicker {
    return { picker: this.createPicker(picker), errorMessage };
  }

  /** Wraps the picker of the child. */
  protected createPicker(childPicker: Picker): Picker {
    return childPicker;
  }

  /** Describes what the policy knows of itself. */
  protected describeDetails(): StateDetails | undefined {
    return undefined;
  }

  /** Adds what the policy knows to the description of the child. */
  protected describeChild(child: ChildState): ChildState {
    return child;
  }
}
