import { EventEmitter } from 'node:events';
import { watchSession } from '../../src/grpc-js/session-watch';

/** The part of a connected subchannel that is watched, with real emitters in place of a connection. */
function connect(encrypted = false) {
  const socket = new EventEmitter();
  const session = Object.assign(new EventEmitter(), { socket, encrypted, destroyed: false });
  return { socket, session, subchannel: { transport: { session } } };
}

describe('the watch of a connection', () => {
  it.each([
    ['ECONNRESET', 'connection reset'],
    ['EPIPE', 'connection reset'],
    ['ETIMEDOUT', 'connection timed out'],
    ['ECONNABORTED', 'connection aborted'],
    ['EHOSTUNREACH', 'socket error'],
    [undefined, 'socket error'],
  ])('reads the error %s of the socket as %s', (code, reason) => {
    const { socket, session, subchannel } = connect();
    const watch = watchSession(subchannel);
    expect(watch?.reason).toBeUndefined();
    socket.emit('error', { code });
    expect(watch?.reason).toBe(reason);
    // The first reason counts.
    session.emit('goaway', 0);
    expect(watch?.reason).toBe(reason);
  });

  it.each([
    [0, 'GOAWAY NO_ERROR'],
    [2, 'GOAWAY INTERNAL_ERROR'],
    [11, 'GOAWAY ENHANCE_YOUR_CALM'],
    [13, 'GOAWAY HTTP_1_1_REQUIRED'],
    [14, 'GOAWAY UNKNOWN'],
  ])('reads a GOAWAY with code %s as %s', (code, reason) => {
    const { session, subchannel } = connect();
    const watch = watchSession(subchannel);
    session.emit('goaway', code);
    expect(watch?.reason).toBe(reason);
  });

  it('has the security of the connection', () => {
    expect(watchSession(connect(true).subchannel)?.securityLevel).toBe('privacy_and_integrity');
    expect(watchSession(connect(false).subchannel)?.securityLevel).toBe('none');
  });

  it('leaves no listener behind', () => {
    const { socket, session, subchannel } = connect();
    watchSession(subchannel)?.release();
    expect([...session.eventNames(), ...socket.eventNames()]).toEqual([]);
  });

  it('does not use the socket of a session that is destroyed: it would throw', () => {
    const { session, subchannel } = connect();
    const watch = watchSession(subchannel);
    session.destroyed = true;
    Object.defineProperty(session, 'socket', {
      get() {
        throw new Error('ERR_HTTP2_SOCKET_UNBOUND');
      },
    });
    expect(() => watch?.release()).not.toThrow();
  });

  it.each([[{}], [{ transport: null }], [{ transport: { session: {} } }]])(
    'is not there where the host library does not show a session: %j',
    (subchannel) => {
      expect(watchSession(subchannel)).toBeUndefined();
    },
  );
});
