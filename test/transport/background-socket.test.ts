import { EventEmitter } from 'node:events';
import { putInBackground } from '../../src/transport/connection-credentials';

/** Remembers whether it keeps the process alive, as a socket does. */
class FakeSocket extends EventEmitter {
  isReferenced = true;

  ref(): this {
    this.isReferenced = true;
    return this;
  }

  unref(): this {
    this.isReferenced = false;
    return this;
  }
}

describe('putInBackground', () => {
  it('keeps a socket in the background whatever uses it', () => {
    const socket = new FakeSocket();
    putInBackground(socket);
    expect(socket.ref()).toBe(socket);
    expect(socket.isReferenced).toBe(false);
  });

  it('gives the socket back as it was when released', () => {
    const socket = new FakeSocket();
    putInBackground(socket).release();
    expect(socket.isReferenced).toBe(true);
    socket.unref();
    socket.ref();
    expect(socket.isReferenced).toBe(true);
  });

  it('leaves a stream alone that has no such methods', () => {
    const stream = {};
    putInBackground(stream).release();
    expect(stream).toEqual({});
  });
});
