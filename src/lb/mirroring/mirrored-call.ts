import {
  PickResultType,
  toPickInformation,
  type Metadata,
  type PickArgs,
  type Picker,
  type PickResult,
  type Subchannel,
} from '../../grpc-js';
import { CallCopy, CopiedCallListener, copyRequest } from '../../grpc-js/call-copy';
import { runContained } from '../../grpc-js/host-callbacks';
import { withCreateCall, type CreateCall } from '../../grpc-js/subchannel-wrappers';
import { drawShare } from '../../http-filters/client-filter';
import { securityOf } from '../../security/client/connection-security';
import type { CallAttributes } from '../call-attributes';
import type { LbEnvironment } from '../lb-policy';

/** For exceptions. */
const PLACE = 'the copy of a call';

/**
 * Returns the result of the pick of a call with which its first attempt is copied to the clusters of its mirrors. A copy is sent if
 * an endpoint of its cluster is connected; nothing waits for it, it is not retried, and its response is dropped. Each cluster
 * counts and limits its copies as it does its calls.
 *
 * @param pickers Those of all clusters, by the names of the children of the cluster manager.
 */
export function mirrorPick(
  call: CallAttributes,
  args: PickArgs,
  result: PickResult,
  pickers: ReadonlyMap<string, Picker>,
  environment: Pick<LbEnvironment, 'clock' | 'random'>,
): PickResult {
  const { subchannel } = result;
  const { mirrors = [] } = call;
  if (subchannel === null || result.pickResultType !== PickResultType.COMPLETE) return result;
  const createCall: CreateCall = (metadata, host, method, listener, callId) => {
    const connection = subchannel.getRealSubchannel();
    // Retries are not copied.
    if (call.mirrors === undefined) {
      return connection.createCall(metadata, host, method, listener, callId);
    }
    call.mirrors = undefined;
    const copies: CallCopy[] = [];
    const headers = metadata.clone();
    const watch = new CopiedCallListener(listener, copies);
    const created = connection.createCall(metadata, host, method, watch, callId);
    for (const { childName, perMillion } of mirrors) {
      if (!drawShare(perMillion, environment.random)) continue;
      const copy = runContained(PLACE, () => {
        const picked = pickCopy(childName, call, args, pickers);
        const { subchannel: connected = null } = picked ?? {};
        if (picked === undefined || connected === null || isRevealing(headers, connected)) return;
        const started = new CallCopy(picked, environment.clock);
        started.start(connected, headers.clone(), host, method, callId);
        return started;
      });
      if (copy !== undefined) copies.push(copy);
    }
    return copies.length === 0 ? created : copyRequest(created, copies);
  };
  return { ...result, subchannel: withCreateCall(subchannel, createCall) };
}

function pickCopy(
  cluster: string,
  call: CallAttributes,
  { metadata }: PickArgs,
  pickers: ReadonlyMap<string, Picker>,
): PickResult | undefined {
  const attributes: CallAttributes = { cluster, requestHash: () => call.requestHash?.() ?? 0n };
  return pickers
    .get(cluster)
    ?.pick({ metadata: metadata.clone(), extraPickInfo: toPickInformation(attributes) });
}

/** Whether call credentials would be sent over a connection that is not known to be secure. */
function isRevealing(headers: Metadata, subchannel: Subchannel): boolean {
  const { kind } = securityOf(subchannel);
  const isSecure = kind === 'policy' || kind === 'application';
  return !isSecure && headers.get('authorization').length > 0;
}
