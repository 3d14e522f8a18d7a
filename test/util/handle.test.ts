import { createHandle } from '../../src/util/handle';

describe('createHandle', () => {
  it('lets go once, however often it is released', () => {
    let released = 0;
    const handle = createHandle(() => released++);
    expect(released).toBe(0);
    handle.release();
    handle.release();
    expect(released).toBe(1);
  });

  it('lets go once when it is released again while letting go', () => {
    let released = 0;
    const handle = createHandle(() => {
      released++;
      handle.release();
    });
    handle.release();
    expect(released).toBe(1);
  });
});
