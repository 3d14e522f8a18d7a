import { HOST_RANGE } from '../util/version';
import * as host from '.';
import { experimental } from '@grpc/grpc-js';
import { createRequire } from 'node:module';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/errors';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import { describeOtherCopy, ownCopy, processCopies, type PackageCopy } from '../util/package-copy';
import { StatusCode } from '../util/status-code';
import { constructorOf } from './host-adapters';
import { hasMethods } from './host-internals';

/**
 * Checks that grpc-js has all exports this package uses.
 *
 * @throws XdsError with the version needed and the version found.
 */
export function checkHost(): void {
  const missing = missingOf(host);
  if (missing.length === 0) return;
  const { ownPath } = findHostCopies(loadedModules(), experimental);
  throw new XdsError(
    'XDS_GRPC_JS_UNSUPPORTED',
    `needs @grpc/grpc-js ${HOST_RANGE}, and found ${describeVersion(ownPath)}, ` +
      `which lacks ${missing.join(', ')}: install @grpc/grpc-js@${HOST_RANGE}`,
  );
}

/** Returns the copy of this package that serves the `xds:` targets of grpc-js; `undefined` if none does. */
export function servingCopy(): PackageCopy | undefined {
  return processCopies().serving.get(experimental);
}

/**
 * Makes this copy the one that serves the `xds:` targets of grpc-js, until the process ends: the policies of two copies
 * cannot work together.
 *
 * @throws XdsError if another copy does, with the paths of both.
 */
export function takeTargets(): void {
  const serving = servingCopy() ?? ownCopy;
  if (serving !== ownCopy) {
    throw new XdsError(
      'XDS_COPY_CONFLICT',
      `register() is of ${describeOtherCopy(ownCopy, serving)}`,
    );
  }
  processCopies().serving.set(experimental, ownCopy);
}

function missingOf(exports: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(exports).filter((name) => exports[name] === undefined);
}

function describeVersion(path: string | undefined): string {
  if (path === undefined) return 'another version inside the bundle';
  return `${versionOf(path)} (${path})`;
}

/** The version of the copy of grpc-js whose main module has this path. */
function versionOf(path: string): string {
  try {
    const manifest: unknown = createRequire(path)('../../package.json');
    if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) {
      return String(manifest.version);
    }
    return 'an unknown version';
  } catch (error) {
    return `an unknown version (${errorMessage(error)})`;
  }
}

/** The modules of this process by their paths, as in `require.cache`. */
export type LoadedModules = Readonly<Record<string, { readonly exports: unknown } | undefined>>;

/** A copy of grpc-js that this package does not use. */
export interface OtherCopy {
  readonly path: string;
  readonly exports: unknown;
}

/** The copies of grpc-js in this process. */
interface HostCopies {
  /** `undefined` if this package's copy is part of a bundle. */
  readonly ownPath: string | undefined;
  readonly others: readonly OtherCopy[];
}

const GRPC_JS = /[\\/]@grpc[\\/]grpc-js[\\/]build[\\/]src[\\/]index\.js$/;
const PEER = /[\\/]@grpc[\\/]grpc-js-xds[\\/]build[\\/]src[\\/]index\.js$/;

/**
 * Finds the copies of grpc-js among the modules of a process. A copy is this package's own if it has the same
 * `experimental` object. Paths do not decide it, because a bundle has none.
 */
export function findHostCopies(modules: LoadedModules, experimental: object): HostCopies {
  let ownPath: string | undefined;
  const others: OtherCopy[] = [];
  for (const path of Object.keys(modules)) {
    if (!path.includes('grpc-js') || !GRPC_JS.test(path)) continue;
    const exports = modules[path]?.exports;
    if (experimentalOf(exports) === experimental) ownPath = path;
    else others.push({ path, exports });
  }
  return { ownPath, others };
}

/** The path of `@grpc/grpc-js-xds`, if it is loaded. */
export function findPeer(modules: LoadedModules): string | undefined {
  return Object.keys(modules).find((path) => path.includes('grpc-js-xds') && PEER.test(path));
}

/** The namespace `experimental` of a copy of grpc-js; `undefined` if it has none, or is not loaded entirely. */
function experimentalOf(exports: unknown): object | undefined {
  if (typeof exports !== 'object' || exports === null || !('experimental' in exports)) return;
  const { experimental } = exports;
  return typeof experimental === 'object' && experimental !== null ? experimental : undefined;
}

/**
 * Returns the CommonJS modules of this process, except those inside a bundle. A bundle may have no `require` of its own,
 * or one without a cache; Node's own cache is the same for every `require` made by `createRequire`.
 */
export function loadedModules(): LoadedModules {
  try {
    return createRequire(process.execPath).cache;
  } catch {
    // Without the cache no other copy can be found, and nothing else depends on it.
    return {};
  }
}

import { isLoadBalancerNameRegistered } from '.';
import { XdsError } from '../util/xds-error';

/** Dependencies of a {@link CopyWatch}. */
interface CopyWatchOptions {
  readonly modules: () => LoadedModules;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A policy that only `@grpc/grpc-js-xds` registers. */
const PEER_POLICY = 'xds_cluster_manager';
const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 64_000;

/**
 * Finds copies of grpc-js other than the one `xds:` targets are registered with, and fails calls on their channels with
 * an explanation, since they could not resolve `xds:` targets. Node 20 does not report that a module was loaded, so the
 * search is repeated: after the current turn of the event loop, at growing intervals in the first two minutes, and
 * whenever a channel for an `xds:` target is created.
 */
export class CopyWatch {
  private readonly known = new Set<string>();
  private readonly knownPackages = new Set<PackageCopy>([ownCopy]);
  private isPeerReported = false;
  private timer: Handle | undefined;

  constructor(private readonly options: CopyWatchOptions) {}

  /** Searches now, and starts the repeated search. */
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
    this.reportPackages();
  }

  /** Reports each other copy of this package that the application uses as if it served the `xds:` targets. */
  private reportPackages(): void {
    if (servingCopy() !== ownCopy) return;
    for (const copy of processCopies().used) {
      if (this.knownPackages.has(copy)) continue;
      this.knownPackages.add(copy);
      this.options.logger.error(
        () =>
          'grpc-xds: two copies of this package are in use: what is registered, observed or inspected with the copy that does ' +
          `not serve xds: targets does not concern them; it is of ${describeOtherCopy(copy)}`,
      );
    }
  }

  /** Reports once that `@grpc/grpc-js-xds` serves `xds:` targets. Called before the scheme is registered again. */
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

  /** Ends the repeated search. */
  stop(): void {
    this.timer?.release();
    this.timer = undefined;
  }

  private scanAfter(delayMs: number): void {
    if (delayMs > MAX_DELAY_MS) return;
    this.timer = this.options.clock.setTimer(() => {
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

/** The functions used of another copy of grpc-js, of any version. */
interface OtherHost {
  registerResolver(scheme: string, resolver: object): void;
  isLoadBalancerNameRegistered(name: string): boolean;
}

/** The policies that implementations of xDS register together with their resolver. */
const ROOT_POLICIES = ['xds_cluster_manager_experimental', 'xds_cluster_manager'];

/** Whether a copy of this package, or another package, serves the `xds:` targets of a copy of grpc-js. */
function servesXds(copy: OtherCopy): boolean {
  const host = experimentalOf(copy.exports);
  return isHost(host) && ROOT_POLICIES.some((name) => host.isLoadBalancerNameRegistered(name));
}

/**
 * Makes calls to `xds:` targets on channels of another copy of grpc-js fail with these details. That copy would
 * resolve the target as a DNS name.
 *
 * @returns `false` if the copy lacks a function for it.
 */
function refuseXds(copy: OtherCopy, details: string, clock: Clock): boolean {
  const host = experimentalOf(copy.exports);
  if (!isHost(host) || !hasMethods<{ Metadata: new () => object }>(copy.exports, 'Metadata'))
    return false;
  const { Metadata } = copy.exports;
  const resolver = constructorOf((_target: unknown, listener: unknown) => ({
    updateResolution() {
      const error = { code: StatusCode.UNAVAILABLE, details, metadata: new Metadata() };
      clock.soon(() => report(listener, error));
    },
    destroy: () => undefined,
  }));
  const getDefaultAuthority = ({ path }: { readonly path: string }) => path;
  host.registerResolver('xds', Object.assign(resolver, { getDefaultAuthority }));
  return true;
}

/** Until 1.13 a listener was an object; since 1.14 it is a function. */
function report(listener: unknown, error: object): void {
  const failed = { ok: false, error };
  if (isFunction(listener)) listener(failed, {}, failed, '');
  else if (hasMethods<{ onError(error: object): void }>(listener, 'onError'))
    listener.onError(error);
}

function isFunction(value: unknown): value is (...args: readonly unknown[]) => unknown {
  return typeof value === 'function';
}

function isHost(value: object | undefined): value is OtherHost {
  return hasMethods<OtherHost>(value, 'registerResolver', 'isLoadBalancerNameRegistered');
}
