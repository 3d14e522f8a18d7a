import { InterceptingCall, type Interceptor } from '@grpc/grpc-js';
import { CHILD_CHANNEL_OPTION } from '../../src/util/channel-options';
import { CheckedChildOptions } from '../../src/grpc-js/child-channel-options';

const pass: Interceptor = (options, next) => new InterceptingCall(next(options));

function check(value: unknown): CheckedChildOptions {
  const checked = CheckedChildOptions.check(value);
  if (!checked.ok) throw new Error(checked.error);
  return checked.value;
}

describe('child channel options (gRFC A110)', () => {
  it.each<[unknown, string]>([
    [1, 'must be an object of channel options'],
    [null, 'must be an object of channel options'],
    [[], 'must be an object of channel options'],
    [{ 'grpc.keepalive_time_ms': '20' }, 'grpc.keepalive_time_ms must be a number'],
    [{ 'grpc.keepalive_timeout_ms': NaN }, 'grpc.keepalive_timeout_ms must be a number'],
    [{ 'grpc.primary_user_agent': 7 }, 'grpc.primary_user_agent must be a string'],
    [{ interceptors: pass }, 'interceptors must be an array of functions'],
    [{ interceptor_providers: [pass, 1] }, 'interceptor_providers must be an array of functions'],
    [{ channelFactoryOverride: {} }, 'channelFactoryOverride must be a function'],
    [{ channelOverride: {} }, 'channelOverride is an option of a client, not of a channel'],
    [
      { callInvocationTransformer: pass },
      'callInvocationTransformer is an option of a client, not of a channel',
    ],
    [
      { interceptors: [], interceptor_providers: [] },
      'only one of interceptors and interceptor_providers can be set',
    ],
    [
      { [CHILD_CHANNEL_OPTION]: {} },
      `${CHILD_CHANNEL_OPTION} cannot be nested: child channels pass their options on to their children`,
    ],
    [
      { 'grpc.enable_http_proxy': false, 'grpc.default_authority': null },
      'grpc.enable_http_proxy must be a number; grpc.default_authority must be a string',
    ],
  ])('that cannot be used are rejected with every reason: %j', (value, error) => {
    expect(CheckedChildOptions.check(value)).toEqual({ ok: false, error });
  });

  it('do not change with the object of the application, and leave out what is undefined', () => {
    const interceptors = [pass];
    const given = { interceptors, 'grpc.keepalive_time_ms': 7, 'grpc.service_config': undefined };
    const options = check(given);
    given['grpc.keepalive_time_ms'] = 8;
    interceptors.push(pass);
    expect(options.forClient.interceptors).toEqual([pass]);
    const copy = { interceptors: [pass], 'grpc.keepalive_time_ms': 7 };
    expect(options.forClient).toEqual({ ...copy, [CHILD_CHANNEL_OPTION]: copy });
  });

  it('are passed on to the children of a child, without interceptors among the options of a channel', () => {
    const options = check({ interceptors: [pass], 'app.key': 'x' });
    expect(options.forChannel).toEqual({
      'app.key': 'x',
      [CHILD_CHANNEL_OPTION]: { interceptors: [pass], 'app.key': 'x' },
    });
  });

  it('are equal by the values of their options, and by the interceptors in their lists', () => {
    const one = check({ interceptors: [pass], 'grpc.keepalive_time_ms': 7 });
    expect(one.equals(check({ 'grpc.keepalive_time_ms': 7, interceptors: [pass] }))).toBe(true);
    for (const other of [
      { interceptors: [pass] },
      { interceptors: [], 'grpc.keepalive_time_ms': 7 },
      { interceptors: [pass], 'grpc.keepalive_time_ms': 8 },
      { interceptors: [pass], 'grpc.keepalive_timeout_ms': 7 },
    ]) {
      expect(one.equals(check(other))).toBe(false);
    }
    expect(one.equals(undefined)).toBe(false);
  });

  it('of a channel take precedence over those of the process, one by one', () => {
    const process = check({ 'grpc.keepalive_time_ms': 7, 'app.key': 'p', interceptors: [pass] });
    const provider = () => pass;
    const own = check({ 'app.key': 'c', interceptor_providers: [provider] });
    const merged = {
      'grpc.keepalive_time_ms': 7,
      'app.key': 'c',
      interceptor_providers: [provider],
    };
    expect(own.over(process).equals(check(merged))).toBe(true);
    expect(own.over(undefined)).toBe(own);
  });
});
