import { ChannelCredentials } from '@grpc/grpc-js';

/**
 * Whether a subchannel belongs to a channel with insecure credentials. grpc-js shows them in the private wrapper that it
 * puts around each subchannel of a channel
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/internal-channel.ts,
 * `ChannelSubchannelWrapper`).
 *
 * @returns `false` also where the credentials cannot be seen.
 */
export function isInsecure(subchannel: object): boolean {
  const channel = 'channel' in subchannel ? subchannel.channel : undefined;
  if (typeof channel !== 'object' || channel === null || !('credentials' in channel)) return false;
  const { credentials } = channel;
  return credentials instanceof ChannelCredentials && !credentials._isSecure();
}
