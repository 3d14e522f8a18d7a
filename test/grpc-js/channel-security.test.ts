import { CallCredentials, credentials } from '../../src/grpc-js';
import { channelCredentialsOf } from '../../src/grpc-js/host-internals';

const ssl = credentials.createSsl();
const insecure = credentials.createInsecure();
const token = CallCredentials.createEmpty();

describe('the credentials of the channel of a subchannel', () => {
  it.each([
    ['are those of the channel', { credentials: insecure }, insecure],
    ['are without its call credentials', { credentials: ssl.compose(token) }, ssl],
    ['are without several layers of them', { credentials: ssl.compose(token).compose(token) }, ssl],
    ['cannot be seen where they are of another class', { credentials: {} }, undefined],
    ['cannot be seen where the channel does not show them', {}, undefined],
    ['cannot be seen where there is no channel', null, undefined],
  ])('%s', (_name, channel, expected) => {
    expect(channelCredentialsOf({ channel })).toBe(expected);
  });

  it('are seen through the wrappers of policies', () => {
    const child = { child: { channel: { credentials: ssl } } };
    expect(channelCredentialsOf({ child })).toBe(ssl);
  });

  it('cannot be seen on a subchannel without a channel', () => {
    expect(channelCredentialsOf({})).toBeUndefined();
  });
});
