import { diagnostics, type ResourceEventBase, type ResourceProblem } from './diagnostics';
import type { Failure, ResourceState } from './resource-state';
import type { XdsError } from './resource-watcher';

type State = ResourceState<unknown>;

/** Tells whoever has subscribed to it what has become of a resource. */
export function publishResourceChange(before: State, after: State, about: ResourceEventBase): void {
  publishValue(before, after, about);
  const failure = failureOf(after);
  if (failure !== undefined && failure !== failureOf(before)) {
    if (failure.status === 'NACKED') publishNack(failure, after, about);
    else publishProblem(failure.error, after, about);
  }
  const error = unreachableOf(after);
  if (error !== undefined && error.message !== unreachableOf(before)?.message) {
    publishProblem(error, after, about);
  }
}

/** Whether anybody would hear of a change. */
export function hasResourceSubscribers(): boolean {
  const { resourceAccepted, resourceNacked, resourceMissing, resourceStale } = diagnostics;
  return (
    resourceAccepted.hasSubscribers ||
    resourceNacked.hasSubscribers ||
    resourceMissing.hasSubscribers ||
    resourceStale.hasSubscribers
  );
}

function publishValue(before: State, after: State, about: ResourceEventBase): void {
  if (after.kind !== 'accepted') return;
  const { value, version } = after.accepted;
  const isNew = before.kind !== 'accepted' || before.accepted.value !== value;
  if (isNew) diagnostics.resourceAccepted.publish({ ...about, version });
}

function publishNack({ version, error }: Failure, after: State, about: ResourceEventBase): void {
  const isOldValueInUse = after.kind === 'accepted';
  diagnostics.resourceNacked.publish({ ...about, version, error: error.message, isOldValueInUse });
}

function publishProblem(error: XdsError, after: State, about: ResourceEventBase): void {
  const { resourceStale, resourceMissing } = diagnostics;
  const event = { ...about, reason: problemOf(error), error: error.message };
  (after.kind === 'accepted' ? resourceStale : resourceMissing).publish(event);
}

function problemOf({ kind }: XdsError): ResourceProblem {
  return kind === 'invalid' || kind === 'bad-name' ? 'does-not-exist' : kind;
}

function failureOf(state: State): Failure | undefined {
  return state.kind === 'requested' ? undefined : state.failure;
}

function unreachableOf(state: State): XdsError | undefined {
  return state.kind === 'failed' ? undefined : state.unreachable;
}
