import {
  Metadata,
  Status,
  statusOrFromError,
  uriToString,
  type GrpcUri,
  type Resolver,
  type ResolverListener,
} from '../grpc-js';
import { systemClock } from '../util/clock';
import { quoteText } from '../util/text';

/** Fails every call on a channel whose target has a scheme that is written where `xds:` is meant. */
export class OtherSchemeResolver implements Resolver {
  private isDestroyed = false;

  constructor(
    private readonly target: GrpcUri,
    private readonly listener: ResolverListener,
  ) {}

  updateResolution(): void {
    this.isDestroyed = false;
    systemClock.soon(() => {
      if (this.isDestroyed) return;
      const details = describeTarget(this.target);
      const error = { code: Status.UNAVAILABLE, details, metadata: new Metadata() };
      this.listener(statusOrFromError(error), {}, null, '');
    });
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}

function describeTarget(target: GrpcUri): string {
  const name = target.path.slice(target.path.lastIndexOf('/') + 1);
  const meant = target.scheme === 'xdstp' ? 'xds:///<name>' : `xds:///${name}`;
  return `the target ${quoteText(uriToString(target))} has the scheme ${target.scheme ?? ''}: did you mean ${quoteText(meant)}?`;
}
