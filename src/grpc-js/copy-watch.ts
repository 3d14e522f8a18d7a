import { experimental } from '@grpc/grpc-js';
import type { Clock } from '../util/clock';
import type { Logger } from '../util/logger';
import { isLoadBalancerNameRegistered } from './index';
import { findHostCopies, findPeer, type LoadedModules } from './other-copies';
import { refuseXds, servesXds } from './refusing-resolver';

/** What a watch needs. */
export interface CopyWatchOptions {
  readonly modules: () => LoadedModules;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A policy that only `@grpc/grpc-js-xds` registers. */
const PEER_POLICY = 'xds_cluster_manager';
const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 64_000;

/**
 * Looks for copies of grpc-js other than the one `xds:` targets are registered with, which could not resolve them,
 * and makes calls on their channels say so. Node 20 does not report that a module was loaded, so the search is
 * repeated: after the current turn of the event loop, at growing intervals in the first two minutes, and whenever a
 * channel for an `xds:` target is created.
 */
export class CopyWatch {
  private readonly known = new Set<string>();
  private isPeerReported = false;

  constructor(private readonly options: CopyWatchOptions) {}

  /** Searches now and from now on. */
  start(): void {
    this.scan();
    this.options.clock.soon(() => this.scan());
    this.scanAfter(FIRST_DELAY_MS);
  }

  /** Searches once. */
  scan(): void {
    const { ownPath, others } = findHostCopies(this.options.modules(), experimental);
    for (const copy of others) {
      if (this.known.has(copy.path)) continue;
      this.known.add(copy.path);
      if (servesXds(copy)) continue;
      const details =
        `grpc-xds: this channel uses the copy of @grpc/grpc-js in ${copy.path}, ` +
        `but xds: targets are registered with ${ownPath ?? 'the copy inside the bundle'}: ` +
        'install one copy for both (see npm ls @grpc/grpc-js)';
      const isRefused = refuseXds(copy, details, this.options.clock);
      this.options.logger.error(() => describeCopy(copy.path, ownPath, isRefused));
    }
  }

  /** Reports once if `@grpc/grpc-js-xds` serves `xds:` targets. To be called before the scheme is registered anew. */
  reportPeer(): void {
    if (this.isPeerReported || !isLoadBalancerNameRegistered(PEER_POLICY)) return;
    this.isPeerReported = true;
    const { logger, modules } = this.options;
    logger.error(() => {
      const path = findPeer(modules());
      const where = path === undefined ? '' : ` (${path})`;
      return `grpc-xds: @grpc/grpc-js-xds${where} has registered the scheme xds; grpc-xds replaces it for the channels created from now on`;
    });
  }

  private scanAfter(delayMs: number): void {
    if (delayMs > MAX_DELAY_MS) return;
    this.options.clock.setTimer(() => {
      this.scan();
      this.scanAfter(delayMs * 2);
    }, delayMs);
  }
}

function describeCopy(path: string, ownPath: string | undefined, isRefused: boolean): string {
  const consequence = isRefused
    ? 'calls on its channels to xds: targets fail'
    : 'its channels cannot resolve xds: targets';
  const own = ownPath ?? 'the copy inside the bundle';
  return `grpc-xds: ${path} is a second copy of @grpc/grpc-js: ${consequence}, because they are registered with ${own}; install one copy for both (see npm ls @grpc/grpc-js)`;
}
