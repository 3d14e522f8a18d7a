import { parseConnectionError } from '../../src/grpc-js/connection-error';

describe('the error of a pick_first of grpc-js', () => {
  it.each([
    [
      'a failed connection',
      'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1 (2026-11-22T14:21:00.000Z). Resolution note: n',
      { isConnectionFailure: true, cause: 'connect ECONNREFUSED 127.0.0.1:1', note: 'n' },
    ],
    [
      'a connection that failed for another channel',
      'No connection established. Last error: null. Resolution note: ',
      {
        isConnectionFailure: true,
        cause: 'in backoff after a failure for another channel',
        note: '',
      },
    ],
    [
      'a proxy that did not connect',
      'No connection established. Last error: undefined. Resolution note: ',
      {
        isConnectionFailure: true,
        cause: 'the proxy of grpc_proxy, https_proxy or http_proxy did not connect',
        note: '',
      },
    ],
    [
      'an exception of Node.js',
      'No connection established. Last error: RangeError [ERR_SOCKET_BAD_PORT]: Port should be < 65536. (2026-11-22T14:21:00.000Z). Resolution note: ',
      { isConnectionFailure: true, cause: 'Port should be < 65536.', note: '' },
    ],
    [
      'an ejected endpoint',
      'Picked subchannel 127.0.0.1:1 is unhealthy',
      { isConnectionFailure: false, cause: 'ejected by outlier detection', note: '' },
    ],
    [
      'another text',
      'something else',
      { isConnectionFailure: false, cause: 'something else', note: '' },
    ],
  ])('is parsed: %s', (_what, text, expected) => {
    expect(parseConnectionError(text)).toEqual(expected);
  });
});
