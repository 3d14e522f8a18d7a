import { getChannelzHandlers } from '../../grpc-js';
import type { CallCounts, ChannelReport, SocketReport, SubchannelReport } from './inspect-report';
import { toIso } from '../../util/since';

/** The number of channels in a report, and of the subchannels of each. */
const MAX_CHANNELS = 100;
const MAX_SUBCHANNELS = 1000;

/** Returns what channelz knows of the channels of each target. Those with `grpc.enable_channelz: 0` are missing. */
export function describeChannels(): ReadonlyMap<string, readonly ChannelReport[]> {
  const byTarget = new Map<string, ChannelReport[]>();
  const request = { start_channel_id: '0', max_results: `${MAX_CHANNELS}` };
  for (const channel of list(ask('GetTopChannels', request), 'channel')) {
    const target = at(channel, 'data', 'target');
    if (typeof target !== 'string' || !/^xds:/i.test(target)) continue;
    const subchannels = list(channel, 'subchannel_ref').slice(0, MAX_SUBCHANNELS);
    const report = {
      ...{ id: number(channel, 'ref', 'channel_id'), ...describeData(channel) },
      subchannels: subchannels.flatMap((ref) => describeSubchannel(number(ref, 'subchannel_id'))),
    };
    byTarget.set(target, [...(byTarget.get(target) ?? []), report]);
  }
  return byTarget;
}

function describeSubchannel(id: number): readonly SubchannelReport[] {
  const subchannel = at(ask('GetSubchannel', { subchannel_id: `${id}` }), 'subchannel');
  const address = at(subchannel, 'data', 'target');
  // It may be gone.
  if (typeof address !== 'string') return [];
  const sockets = list(subchannel, 'socket_ref').flatMap((ref) =>
    describeSocket(number(ref, 'socket_id')),
  );
  return [{ id, address, ...describeData(subchannel), sockets }];
}

function describeSocket(id: number): readonly SocketReport[] {
  const socket = at(ask('GetSocket', { socket_id: `${id}` }), 'socket');
  if (socket === undefined) return [];
  const tls = at(socket, 'security', 'tls');
  const cipherSuite = at(tls, 'standard_name') ?? at(tls, 'other_name');
  const streams = {
    started: number(socket, 'data', 'streams_started'),
    succeeded: number(socket, 'data', 'streams_succeeded'),
    failed: number(socket, 'data', 'streams_failed'),
    ...lastStarted(at(socket, 'data', 'last_local_stream_created_timestamp')),
  };
  return [
    {
      ...{ id, streams },
      ...(typeof cipherSuite === 'string' && { cipherSuite }),
      messagesSent: number(socket, 'data', 'messages_sent'),
      messagesReceived: number(socket, 'data', 'messages_received'),
      keepAlivesSent: number(socket, 'data', 'keep_alives_sent'),
    },
  ];
}

function describeData(entity: unknown): Pick<ChannelReport, 'state' | 'calls'> {
  const state = at(entity, 'data', 'state', 'state');
  return {
    state: typeof state === 'string' ? state : 'UNKNOWN',
    calls: {
      started: number(entity, 'data', 'calls_started'),
      succeeded: number(entity, 'data', 'calls_succeeded'),
      failed: number(entity, 'data', 'calls_failed'),
      ...lastStarted(at(entity, 'data', 'last_call_started_timestamp')),
    },
  };
}

function lastStarted(timestamp: unknown): Pick<CallCounts, 'lastStartedAt'> {
  const seconds = number(timestamp, 'seconds');
  return seconds === 0
    ? {}
    : { lastStartedAt: toIso(seconds * 1000 + number(timestamp, 'nanos') / 1e6) };
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

function list(value: unknown, name: string): readonly unknown[] {
  const found: unknown = at(value, name);
  return Array.isArray(found) ? found : [];
}

function number(value: unknown, ...path: readonly string[]): number {
  const found = Number(at(value, ...path));
  return Number.isFinite(found) ? found : 0;
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = Reflect.get(found, name);
  }
  return found ?? undefined;
}
