import {
  registerResolver,
  type ChannelOptions,
  type GrpcUri,
  type ResolverListener,
} from '../grpc-js';
import { parseTargetName } from './target-name';
import { XdsResolver, type XdsResolverDependencies } from './xds-resolver';

/** Makes `xds:` targets resolve through the given dependencies. Replaces any earlier registration. */
export function registerXdsResolver(shared: XdsResolverDependencies): void {
  registerResolver(
    'xds',
    class extends XdsResolver {
      constructor(target: GrpcUri, listener: ResolverListener, options: ChannelOptions) {
        super(target, listener, options, shared);
      }

      /** The data-plane authority is the name itself (gRFC A27). */
      static getDefaultAuthority(target: GrpcUri): string {
        return parseTargetName(target).path;
      }
    },
  );
}
