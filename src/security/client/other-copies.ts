import type { ChannelCredentials, SecureConnector } from '../../grpc-js';
import { Brand, copyOf, describeOtherCopy, ownCopy } from '../../util/package-copy';
import { err, ok, type Result } from '../../util/result';
import type { TlsPolicy } from './tls-policy';

// Credentials, policies and connectors of other copies of this package in the process, and of other packages: what is not of this
// copy is refused where it would decide on plain text.

/** Not the name of the class, which a bundler may shorten to that of any other class. */
const CLASS_NAME = 'XdsChannelCredentials';

const UNREADABLE =
  "the cluster configures TLS, which the channel's credentials cannot read: they are of ";

/** XdsChannelCredentials, with a member that applications do not see. */
type OwnCredentials = ChannelCredentials & { readonly fallback: ChannelCredentials };

/** Whether channel credentials are xDS credentials of this copy of the package, or inherit from such. */
export function isXdsCredentials(value: ChannelCredentials): value is OwnCredentials {
  return copyOf(value, Brand.CHANNEL_CREDENTIALS) === ownCopy;
}

/**
 * Returns why channel credentials are xDS credentials that cannot read the policy of a cluster, and would take the fallback
 * in its place; `undefined` if they are not. Those of versions without a brand, and those of `@grpc/grpc-js-xds`, are
 * recognised by the name of their class.
 */
export function describeForeignXdsCredentials(credentials: ChannelCredentials): string | undefined {
  const copy = copyOf(credentials, Brand.CHANNEL_CREDENTIALS);
  if (copy === ownCopy) return undefined;
  if (copy !== undefined) return UNREADABLE + describeOtherCopy(copy);
  if (!hasClass(credentials, CLASS_NAME)) return undefined;
  return `${UNREADABLE}another package, or of an older copy of grpc-xds: create them by createXdsChannelCredentials() of the copy that was registered, ${ownCopy.path}`;
}

function hasClass(value: object, name: string): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof prototype !== 'object' || prototype === null) return false;
  return prototype.constructor.name === name || hasClass(prototype, name);
}

/** Returns a policy of this copy, or why these credentials cannot read the one that is there. */
export function readPolicy(policy: unknown): Result<TlsPolicy, string> {
  if (isOwnPolicy(policy)) return ok(policy);
  const copy = copyOf(policy, Brand.TLS_POLICY);
  if (copy !== undefined) return err(UNREADABLE + describeOtherCopy(ownCopy, copy));
  const reader = `grpc-xds ${ownCopy.version} in ${ownCopy.path}`;
  return err(`the cluster configures TLS in a form that the credentials of ${reader} cannot read`);
}

function isOwnPolicy(policy: unknown): policy is TlsPolicy {
  return copyOf(policy, Brand.TLS_POLICY) === ownCopy;
}

/** Whether a connector connects through a proxy already, as one of this package or of another copy of it does. */
export function isHttpConnectConnector(connector: SecureConnector): boolean {
  return copyOf(connector, Brand.HTTP_CONNECT) !== undefined;
}
