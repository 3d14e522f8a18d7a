import { createHandle } from '../../src/util/handle';

describe('createHandle', () => {
  it('calls its callback once, however often it is released', () => {
    let released = 0;
    const handle = createHandle(() => released++);
    expect(released).toBe(0);
    handle.release();
    handle.release();
    expect(released).toBe(1);
  });

  it('calls its callback once when it is released again in the callback', () => {
    let released = 0;
    const handle = createHandle(() => {
      released++;
      handle.release();
    });
    handle.release();
    expect(released).toBe(1);
  });
});
