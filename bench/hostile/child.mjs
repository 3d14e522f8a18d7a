import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const here = (name) => new URL(name, import.meta.url).pathname;

/** A child process that may die, with the next message of it or `undefined`. */
export class Child {
  constructor(script, argument, { descriptors = 0, heapMb } = {}) {
    const args = [
      ...(heapMb ? ['--expose-gc'] : []),
      ...(heapMb ? [`--max-old-space-size=${heapMb}`] : []),
      here(script),
      argument,
    ];
    const limit = descriptors > 0 ? `ulimit -n ${descriptors} && ` : '';
    const stdio = ['ignore', 'inherit', 'pipe', 'ipc'];
    this.process = spawn('sh', ['-c', `${limit}exec "$0" "$@"`, process.execPath, ...args], {
      stdio,
    });
    this.errors = '';
    this.process.stderr.on('data', (text) => (this.errors += text));
    this.ended = once(this.process, 'exit').then(() => undefined);
  }

  async next(timeoutMs = 120_000) {
    const message = once(this.process, 'message').then(([value]) => value);
    const timeout = new AbortController();
    const late = sleep(timeoutMs, undefined, { signal: timeout.signal }).catch(() => undefined);
    const first = await Promise.race([message, this.ended, late]);
    timeout.abort();
    return first;
  }

  ask(question) {
    const answer = this.next();
    this.process.send(question, () => {});
    return answer;
  }

  async stop() {
    this.process.kill('SIGKILL');
    await this.ended;
  }
}
