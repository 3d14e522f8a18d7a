import type { ChannelOptions } from '../../grpc-js';
import type { XdsLbContext } from '../lb-policy';

/**
 * The resolver attribute with the {@link XdsLbContext}. Because of the prefix, grpc-js does not add it to the options of
 * subchannels, where it would open a new connection with every config update.
 */
export const XDS_LB_CONTEXT_KEY = 'grpc.internal.no_subchannel.grpc_xds.lb_context';

/** Returns the attribute with the context, to be spread into the attributes of the resolver. */
export function xdsLbContextArg(context: XdsLbContext): Record<string, XdsLbContext> {
  return { [XDS_LB_CONTEXT_KEY]: context };
}

/** Returns the context in the options of an update; `undefined` under another resolver. */
export function getXdsLbContext(options: ChannelOptions): XdsLbContext | undefined {
  const context: unknown = options[XDS_LB_CONTEXT_KEY];
  return isXdsLbContext(context) ? context : undefined;
}

/** Whether a value is a context. Only the resolver of this package sets it, so two fields are enough to check. */
function isXdsLbContext(value: unknown): value is XdsLbContext {
  return typeof value === 'object' && value !== null && 'nodeId' in value && 'clusters' in value;
}
