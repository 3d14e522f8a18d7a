import { isInsecure } from '../../src/grpc-js/host-internals';
import { credentials } from '../../src/grpc-js';

describe('isInsecure', () => {
  it.each([
    ['of a channel with insecure credentials', { credentials: credentials.createInsecure() }, true],
    ['of a channel with TLS credentials', { credentials: credentials.createSsl() }, false],
    [
      'of a channel that shows something else',
      { credentials: { _isSecure: (): boolean => false } },
      false,
    ],
    ['of a channel that shows nothing', {}, false],
    ['of no channel', null, false],
  ])('reads the credentials off a subchannel %s', (_name, channel, expected) => {
    expect(isInsecure({ channel })).toBe(expected);
  });

  it('returns false for a subchannel without a channel', () => {
    expect(isInsecure({})).toBe(false);
  });
});
