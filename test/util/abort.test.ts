import { getEventListeners, getMaxListeners } from 'node:events';
import { abortable, onAbort } from '../../src/util/abort';

describe('abortable', () => {
  const reason = new Error('enough');

  it.each(['failed', 'succeeded'])(
    'cancels what has begun, and is rejected with the reason when that has %s',
    async (outcome) => {
      const controller = new AbortController();
      let cancel = () => {};
      const start = () =>
        new Promise<void>((resolve, reject) => {
          cancel = () => (outcome === 'failed' ? reject(new Error('cancelled')) : resolve());
        });
      const waiting = abortable(controller.signal, start, () => cancel());
      controller.abort(reason);
      await expect(waiting).rejects.toBe(reason);
    },
  );

  it('does not begin with a signal that is aborted', async () => {
    const [start, cancel] = [jest.fn(() => Promise.resolve()), jest.fn()];
    await expect(abortable(AbortSignal.abort(reason), start, cancel)).rejects.toBe(reason);
    expect([start, cancel].map((each) => each.mock.calls.length)).toEqual([0, 0]);
  });

  it('leaves what has succeeded, or failed, when the signal is aborted as the next thing', async () => {
    const controller = new AbortController();
    const cancel = jest.fn();
    const removed = jest.spyOn(controller.signal, 'removeEventListener');
    const wait = (start: () => Promise<string>) => abortable(controller.signal, start, cancel);
    await expect(wait(() => Promise.reject(reason))).rejects.toBe(reason);
    expect(await wait(() => Promise.resolve('done'))).toBe('done');
    controller.abort();
    expect(cancel).not.toHaveBeenCalled();
    expect(removed).toHaveBeenCalledTimes(2);
  });

  it('waits without a signal', async () => {
    expect(
      await abortable(
        undefined,
        () => Promise.resolve(1),
        () => {},
      ),
    ).toBe(1);
  });
});

describe('onAbort', () => {
  it('calls the function once, also of a signal that is aborted, and not after its release', () => {
    const callback = jest.fn();
    onAbort(AbortSignal.abort(), callback);
    expect(callback).toHaveBeenCalledTimes(1);
    const controller = new AbortController();
    onAbort(controller.signal, callback).release();
    controller.abort();
    onAbort(undefined, callback).release();
    expect(callback).toHaveBeenCalledTimes(1);
  });

  it('lets any number of waits share a signal, and leaves its limit of listeners', () => {
    const { signal } = new AbortController();
    const limit = getMaxListeners(signal);
    const waits = Array.from({ length: 30 }, () => onAbort(signal, () => {}));
    // Node.js warns of more.
    expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(getMaxListeners(signal));
    for (const wait of waits) wait.release();
    expect(getMaxListeners(signal)).toBe(limit);
  });
});
