import { getChannelzHandlers } from '../../grpc-js';
import { toIso } from '../../util/since';
import { listAt, numberAt, valueAt } from '../../util/value-at';
import type { CallCounts, ChannelReport, SocketReport, SubchannelReport } from './inspect-report';

/** The number of channels in a report, and of the subchannels of each. */
const MAX_CHANNELS = 100;
const MAX_SUBCHANNELS = 1000;

/** Returns what channelz knows of the channels of each target. Those with `grpc.enable_channelz: 0` are missing. */
export function describeChannels(): ReadonlyMap<string, readonly ChannelReport[]> {
  const byTarget = new Map<string, ChannelReport[]>();
  const request = { start_channel_id: '0', max_results: `${MAX_CHANNELS}` };
  for (const channel of listAt(ask('GetTopChannels', request), 'channel')) {
    const target = valueAt(channel, 'data', 'target');
    if (typeof target !== 'string' || !/^xds:/i.test(target)) continue;
    const subchannels = listAt(channel, 'subchannel_ref').slice(0, MAX_SUBCHANNELS);
    const report = {
      id: numberAt(channel, 'ref', 'channel_id'),
      ...describeData(channel),
      subchannels: subchannels.flatMap((ref) => describeSubchannel(numberAt(ref, 'subchannel_id'))),
    };
    byTarget.set(target, [...(byTarget.get(target) ?? []), report]);
  }
  return byTarget;
}

function describeSubchannel(id: number): readonly SubchannelReport[] {
  const subchannel = valueAt(ask('GetSubchannel', { subchannel_id: `${id}` }), 'subchannel');
  const address = valueAt(subchannel, 'data', 'target');
  // It may be gone.
  if (typeof address !== 'string') return [];
  const sockets = listAt(subchannel, 'socket_ref').flatMap((ref) =>
    describeSocket(numberAt(ref, 'socket_id')),
  );
  return [{ id, address, ...describeData(subchannel), sockets }];
}

function describeSocket(id: number): readonly SocketReport[] {
  const socket = valueAt(ask('GetSocket', { socket_id: `${id}` }), 'socket');
  if (socket === undefined) return [];
  const tls = valueAt(socket, 'security', 'tls');
  const cipherSuite = valueAt(tls, 'standard_name') ?? valueAt(tls, 'other_name');
  const streams = {
    started: numberAt(socket, 'data', 'streams_started'),
    succeeded: numberAt(socket, 'data', 'streams_succeeded'),
    failed: numberAt(socket, 'data', 'streams_failed'),
    ...lastStarted(valueAt(socket, 'data', 'last_local_stream_created_timestamp')),
  };
  return [
    {
      id,
      streams,
      ...(typeof cipherSuite === 'string' && { cipherSuite }),
      messagesSent: numberAt(socket, 'data', 'messages_sent'),
      messagesReceived: numberAt(socket, 'data', 'messages_received'),
      keepAlivesSent: numberAt(socket, 'data', 'keep_alives_sent'),
    },
  ];
}

function describeData(entity: unknown): Pick<ChannelReport, 'state' | 'calls'> {
  const state = valueAt(entity, 'data', 'state', 'state');
  return {
    state: typeof state === 'string' ? state : 'UNKNOWN',
    calls: {
      started: numberAt(entity, 'data', 'calls_started'),
      succeeded: numberAt(entity, 'data', 'calls_succeeded'),
      failed: numberAt(entity, 'data', 'calls_failed'),
      ...lastStarted(valueAt(entity, 'data', 'last_call_started_timestamp')),
    },
  };
}

function lastStarted(timestamp: unknown): Pick<CallCounts, 'lastStartedAt'> {
  const seconds = numberAt(timestamp, 'seconds');
  return seconds === 0
    ? {}
    : { lastStartedAt: toIso(seconds * 1000 + numberAt(timestamp, 'nanos') / 1e6) };
}

/** Calls a method of the channelz service in this process. It answers at once; `undefined` if it has no answer. */
function ask(method: string, request: object): unknown {
  const handler: unknown = Reflect.get(getChannelzHandlers(), method);
  if (typeof handler !== 'function') return undefined;
  let answer: unknown;
  const onAnswer = (_error: unknown, response: unknown) => (answer = response);
  Reflect.apply(handler, undefined, [{ request }, onAnswer]);
  return answer;
}
