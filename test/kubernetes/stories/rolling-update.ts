import { inScene } from './scene';
import type { Story } from './story';

/** Every pod is replaced, again and again. */
export const rollingUpdate: Story = {
  name: 'rolling update',
  isInShortForm: true,
  run(context) {
    const { isShort } = context;
    const pods = isShort ? 6 : 20;
    const times = isShort ? 1 : 10;
    const options = { name: 'rolling', pods, callsPerSecond: isShort ? 300 : 1000 };
    return inScene(context, options, async ({ deployment }) => {
      for (let i = 0; i < times; i++) {
        await deployment.roll({ maxSurge: Math.ceil(pods / 4), preStopMs: 1000 });
      }
      return { facts: [`${pods} pods replaced ${times} times`] };
    });
  },
};

/**
 * Pods end as soon as they are deleted, without a `preStop` hook: before clients can have the change. A call that one pod refuses is
 * tried again, but only once (gRFC A6): it fails if the next pod ends as well.
 */
export const abruptUpdate: Story = {
  name: 'rolling update without preStop',
  isInShortForm: false,
  run(context) {
    const options = { name: 'abrupt', pods: 20, callsPerSecond: 1000, mayCallsFail: true };
    return inScene(context, options, async ({ deployment }) => {
      for (let i = 0; i < 3; i++) await deployment.roll({ maxSurge: 5, preStopMs: 0 });
      return { facts: ['20 pods replaced 3 times'] };
    });
  },
};
