import {
  registerResolver,
  type ChannelOptions,
  type GrpcUri,
  type Resolver,
  type ResolverListener,
} from '../grpc-js';
import { constructorOf } from '../grpc-js/host-adapters';
import { parseTargetName } from './target-name';

/** What grpc-js gives a resolver. */
export type ResolverArgs = [target: GrpcUri, listener: ResolverListener, options: ChannelOptions];

/** Makes `xds:` targets be resolved by what the function makes. Replaces any earlier registration. */
export function registerXdsResolver(create: (...args: ResolverArgs) => Resolver): void {
  // Not percent-encoded: grpc-js also makes the URL of the HTTP/2 session of it, and Node.js refuses `%` in a host.
  // The policy cluster_impl encodes the `:authority` of calls.
  // https://github.com/grpc/grpc-node/blob/%40grpc/grpc-js%401.14.0/packages/grpc-js/src/transport.ts
  const getDefaultAuthority = (target: GrpcUri) => parseTargetName(target).path;
  registerResolver('xds', Object.assign(constructorOf(create), { getDefaultAuthority }));
}
