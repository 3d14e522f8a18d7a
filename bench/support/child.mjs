// A process that a benchmark talks to: it says one thing when it is ready, then answers each question.
import { fork } from 'node:child_process';
import { once } from 'node:events';

export async function startChild(script, args = [], environment = {}) {
  const child = fork(script, args, { env: { ...process.env, ...environment } });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${script} ${args.join(' ')} ended with ${code}`);
  });
  // Whoever waits for a message hears of it.
  ended.catch(() => {});
  const nextMessage = async () => {
    const [message] = await Promise.race([once(child, 'message'), ended]);
    return message;
  };
  return {
    ready: await nextMessage(),
    ask(question) {
      const answer = nextMessage();
      child.send(question);
      return answer;
    },
    async stop() {
      if (child.exitCode !== null) return;
      child.kill();
      await once(child, 'exit');
    },
  };
}
