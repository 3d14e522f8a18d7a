import {
  registerResolver,
  type ChannelOptions,
  type GrpcUri,
  type Resolver,
  type ResolverListener,
} from '../grpc-js';
import { constructorOf } from '../grpc-js/constructor-of';
import { parseTargetName } from './target-name';

/** What grpc-js gives a resolver. */
export type ResolverArgs = [target: GrpcUri, listener: ResolverListener, options: ChannelOptions];

/** Makes `xds:` targets be resolved by what the function makes. Replaces any earlier registration. */
export function registerXdsResolver(create: (...args: ResolverArgs) => Resolver): void {
  // The data-plane authority is the name itself (gRFC A27).
  const getDefaultAuthority = (target: GrpcUri) => parseTargetName(target).path;
  registerResolver('xds', Object.assign(constructorOf(create), { getDefaultAuthority }));
}
