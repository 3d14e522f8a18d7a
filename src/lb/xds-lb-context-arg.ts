import type { ChannelOptions } from '../grpc-js';
import type { XdsLbContext } from './lb-policy';

/**
 * The resolver attribute that carries the {@link XdsLbContext}. The prefix keeps grpc-js from putting it
 * into subchannel arguments, where it would open a new connection with every config update.
 */
export const XDS_LB_CONTEXT_KEY = 'grpc.internal.no_subchannel.grpc_xds.lb_context';

/** The attribute that carries the context, to be spread into the resolver's attributes. */
export function xdsLbContextArg(context: XdsLbContext): Record<string, XdsLbContext> {
  return { [XDS_LB_CONTEXT_KEY]: context };
}

/** The context in the options of an update; `undefined` under a resolver that is not ours. */
export function getXdsLbContext(options: ChannelOptions): XdsLbContext | undefined {
  const context: unknown = options[XDS_LB_CONTEXT_KEY];
  return isXdsLbContext(context) ? context : undefined;
}

/** Only the resolver of this package writes the key, so its shape needs no closer look. */
function isXdsLbContext(value: unknown): value is XdsLbContext {
  return typeof value === 'object' && value !== null && 'nodeId' in value && 'clusters' in value;
}
