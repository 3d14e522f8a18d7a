import type { Limits } from '../bootstrap/limits';
import type { Metadata } from '../grpc-js';
import type { PolicyState } from '../lb/tree/policy-state';
import { explainCall, explainUnrouted, type CallExplanation } from '../resolver/explain-call';
import { withText } from '../resolver/explanation-text';
import type { LiveResolution, LiveResolutions } from '../resolver/resolver-dependencies';
import type { ResourceSnapshot } from '../xds-client/client-snapshot';
import { createUnusedSearch, type ExplainedState } from './find-unused';

/** The channels of the process, as an explanation looks at them. */
export interface ExplainedChannels {
  readonly resolutions: LiveResolutions;
  readonly types: ExplainedState['types'];
  readonly limits: Limits;
  /** Returns the resources of the client of a target. */
  readonly resourcesOf: (target: string) => Iterable<ResourceSnapshot>;
  /** Returns the policies of a channel; `undefined` if there are none yet. */
  readonly policiesOf: (resolution: LiveResolution) => PolicyState | undefined;
}

/** Explains a call on a channel of the process as it is now. */
export function explainOnChannel(
  { resolutions, types, limits, resourcesOf, policiesOf }: ExplainedChannels,
  target: string,
  method: string,
  headers: Metadata,
): CallExplanation {
  const resolution = resolutions.find(target);
  if (resolution?.live === undefined) {
    const targets = resolutions.all().map((other) => other.target);
    return withText(explainUnrouted(target, resolution, [...new Set(targets)]));
  }
  const resources = [...resourcesOf(target)];
  return withText(
    explainCall({
      ...{ ...resolution.live, method, headers, limits },
      findUnused: createUnusedSearch({
        types,
        bytesOf: (typeUrl, name) =>
          resources.find((known) => known.typeUrl === typeUrl && known.name === name)?.accepted
            ?.bytes,
        policies: policiesOf(resolution),
      }),
    }),
  );
}
