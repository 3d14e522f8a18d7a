import type { Clock } from '../util/clock';
import { StatusCode } from '../util/status-code';
import { constructorOf } from './constructor-of';
import { experimentalOf, type OtherCopy } from './other-copies';

/** What is used of another copy of grpc-js, of whatever version. */
interface OtherHost {
  registerResolver(scheme: string, resolver: object): void;
  isLoadBalancerNameRegistered(name: string): boolean;
}

/** The policy without which neither implementation of xDS has registered its resolver. */
const ROOT_POLICIES = ['xds_cluster_manager_experimental', 'xds_cluster_manager'];

/** Whether `xds:` targets of that copy are served already, by another copy of this package or another package. */
export function servesXds(copy: OtherCopy): boolean {
  const host = experimentalOf(copy.exports);
  return isHost(host) && ROOT_POLICIES.some((name) => host.isLoadBalancerNameRegistered(name));
}

/**
 * Makes calls to `xds:` targets on channels of another copy of grpc-js fail with these details. That copy would
 * take the target for a DNS name.
 *
 * @returns whether the copy could be made to.
 */
export function refuseXds(copy: OtherCopy, details: string, clock: Clock): boolean {
  const host = experimentalOf(copy.exports);
  if (!isHost(host) || !hasMetadata(copy.exports)) return false;
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
  else if (hasOnError(listener)) listener.onError(error);
}

function isFunction(value: unknown): value is (...args: readonly unknown[]) => unknown {
  return typeof value === 'function';
}

function isHost(value: object | undefined): value is OtherHost {
  return (
    value !== undefined &&
    'registerResolver' in value &&
    typeof value.registerResolver === 'function' &&
    'isLoadBalancerNameRegistered' in value &&
    typeof value.isLoadBalancerNameRegistered === 'function'
  );
}

function hasMetadata(exports: unknown): exports is { readonly Metadata: new () => object } {
  return (
    typeof exports === 'object' &&
    exports !== null &&
    'Metadata' in exports &&
    typeof exports.Metadata === 'function'
  );
}

function hasOnError(listener: unknown): listener is { onError(error: object): void } {
  return (
    typeof listener === 'object' &&
    listener !== null &&
    'onError' in listener &&
    typeof listener.onError === 'function'
  );
}
