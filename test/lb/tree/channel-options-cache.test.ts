import {
  CHANNEL_ARGS_CONFIG_SELECTOR_KEY,
  SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX,
} from '../../../src/grpc-js';
import { ChannelOptionsCache } from '../../../src/lb/tree/grpc-js-root';

describe('ChannelOptionsCache', () => {
  it('leaves out what is meant for the channel only', () => {
    const options = {
      'grpc.keepalive_time_ms': 1000,
      [CHANNEL_ARGS_CONFIG_SELECTOR_KEY]: { invoke: () => undefined },
      [`${SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX}.x`]: {},
    };
    expect(new ChannelOptionsCache().strip(options)).toEqual({ 'grpc.keepalive_time_ms': 1000 });
  });

  it('returns the same object while nothing that matters changes', () => {
    const cache = new ChannelOptionsCache();
    const first = cache.strip({ 'grpc.keepalive_time_ms': 1000 });
    const second = cache.strip({
      [CHANNEL_ARGS_CONFIG_SELECTOR_KEY]: {},
      'grpc.keepalive_time_ms': 1000,
    });
    expect(second).toBe(first);
    expect(new ChannelOptionsCache().strip({})).toEqual({});
  });

  it.each([
    ['another value', { 'grpc.keepalive_time_ms': 2000 }],
    ['another key', { 'grpc.keepalive_timeout_ms': 1000 }],
    ['one more key', { 'grpc.keepalive_time_ms': 1000, 'grpc.primary_user_agent': 'x' }],
    ['no key', {}],
  ])('returns another object for %s', (_case, options) => {
    const cache = new ChannelOptionsCache();
    const first = cache.strip({ 'grpc.keepalive_time_ms': 1000 });
    expect(cache.strip(options)).not.toBe(first);
    expect(cache.strip(options)).toEqual(options);
  });
});
