import { percentEncodeAuthority, toAuthority } from '../bootstrap/resource-template';
import {
  type ChannelOptions,
  type GrpcUri,
  registerResolver,
  type Resolver,
  type ResolverListener,
  splitHostPort,
  statusOrFromError,
  uriToString,
} from '../grpc-js';
import { constructorOf } from '../grpc-js/host-adapters';
import { containedResolver } from '../grpc-js/host-callbacks';
import { lazy } from '../util/lazy';
import { err, ok, type Result } from '../util/result';
import type * as OtherScheme from './other-scheme';

/** Loaded for the first target with such a scheme. */
const loadOtherScheme = lazy<typeof OtherScheme>(() => require('./other-scheme'));

/**
 * Schemes that are written where `xds:` is meant: misspelt, of names of resources, or of an earlier time. grpc-js would
 * resolve their targets as names in DNS, whose error says nothing of the scheme.
 */
const OTHER_SCHEMES = ['XDS', 'Xds', 'xdss', 'xsd', 'dxs', 'xds3', 'xds-experimental', 'xdstp'];

/** A parsed `xds:` target (gRFC A47). */
export interface TargetName {
  /** The xDS authority, not the data plane's; empty for `xds:///name`. */
  readonly authority: string;
  /** The decoded path without a leading slash, for the name of the Listener. */
  readonly path: string;
}

/**
 * Parses a target such as `xds:///shop` as grpc-go does, by `url.Parse`: the fragment and the query are dropped, and escapes in the
 * path are decoded; those in a name without a slash, as in `xds:shop`, are not
 * (https://github.com/grpc/grpc-go/blob/v1.76.0/resolver/resolver.go, `Endpoint`).
 */
export function parseTarget(text: string): Result<TargetName, string> {
  const [, rest] = /^xds:([^?#]*)/.exec(text) ?? [];
  if (rest === undefined || text === 'xds:') {
    return err(`not an xds: target: ${text}; use xds:///<name>`);
  }
  if (!rest.startsWith('/')) return ok({ authority: '', path: rest });
  const authority = /^\/\/([^/]*)/.exec(rest)?.[1];
  const path = authority === undefined ? rest : rest.slice(2 + authority.length);
  const escape = /%(?![\da-f]{2}).{0,2}/is.exec(path)?.[0];
  if (escape !== undefined) {
    return err(`${text}: invalid escape ${JSON.stringify(escape)}: write % itself as %25`);
  }
  try {
    return ok({ authority: authority ?? '', path: decodeURIComponent(path.replace('/', '')) });
  } catch {
    return err(`${text}: its name is not UTF-8 once its escapes are decoded`);
  }
}

/** Parses a target as grpc-js passes it to resolvers. */
export function parseTargetName(target: GrpcUri): Result<TargetName, string> {
  return parseTarget(uriToString(target));
}

/** Returns the path of a target; of one that cannot be parsed, as it is written. */
function pathOf(target: GrpcUri): string {
  const name = parseTargetName(target);
  return name.ok ? name.value.path : target.path;
}

/**
 * Returns the data-plane authority of a channel, which selects the virtual host: the channel option
 * `grpc.default_authority`, or else the path of the target (gRFCs A47, A74).
 */
export function dataPlaneAuthority(target: GrpcUri, options: ChannelOptions): string {
  // grpc-js ignores an empty option.
  const option = options['grpc.default_authority'];
  return option ? toAuthority(option) : percentEncodeAuthority(pathOf(target));
}

/** The constructor arguments of a resolver. */
export type ResolverArgs = [target: GrpcUri, listener: ResolverListener, options: ChannelOptions];

/** The name in the URL of an HTTP/2 session whose target has a name that no URL can have. It is not sent. */
const SESSION_NAME = 'xds.invalid';

/** The targets of channels that have a resolver. */
const resolved = new WeakSet<GrpcUri>();

/** Registers a resolver for `xds:` targets with grpc-js. Replaces any earlier registration. */
export function registerXdsResolver(create: (...args: ResolverArgs) => Resolver): void {
  const createResolver = (...args: ResolverArgs): Resolver => {
    resolved.add(args[0]);
    return contain(args[1], create(...args));
  };
  registerResolver('xds', Object.assign(constructorOf(createResolver), { getDefaultAuthority }));
  const createOther = (target: GrpcUri, listener: ResolverListener): Resolver =>
    contain(listener, new (loadOtherScheme().OtherSchemeResolver)(target, listener));
  const Other = Object.assign(constructorOf(createOther), {
    getDefaultAuthority: ({ path }: GrpcUri) => toAuthority(path),
  });
  for (const scheme of OTHER_SCHEMES) registerResolver(scheme, Other);
}

function contain(listener: ResolverListener, resolver: Resolver): Resolver {
  return containedResolver(resolver, (status) =>
    listener(statusOrFromError(status), {}, statusOrFromError(status), ''),
  );
}

/**
 * Returns the authority of the calls of a channel, and later a name for its connections: grpc-js calls this in the
 * constructor of a channel, before that creates its resolver, and then with the same target for each connection, where
 * the name becomes a part of an URL that Node.js parses, and the server name of TLS credentials of the application.
 *
 * https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/transport.ts
 */
function getDefaultAuthority(target: GrpcUri): string {
  const authority = percentEncodeAuthority(pathOf(target));
  return isUrlHost(authority) || !resolved.has(target) ? authority : SESSION_NAME;
}

/**
 * Returns the options for connections of a channel whose sessions have another name: TLS credentials of the application
 * compare certificates with the name of the target nevertheless.
 */
export function connectionOptions(target: GrpcUri, options: ChannelOptions): ChannelOptions {
  const authority = percentEncodeAuthority(pathOf(target));
  if (isUrlHost(authority) || options['grpc.ssl_target_name_override'] !== undefined) return {};
  return { 'grpc.ssl_target_name_override': splitHostPort(authority)?.host ?? authority };
}

function isUrlHost(name: string): boolean {
  return URL.canParse(`https://${name}`);
}
