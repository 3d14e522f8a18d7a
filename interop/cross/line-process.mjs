import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const running = new Set();

const stopAll = () => {
  for (const child of running) child.kill('SIGKILL');
};
process.once('exit', stopAll);

/** A process that is told lines of JSON and answers each with one. It greets with a line of its own. */
export class LineProcess {
  #process;
  #waiting = [];
  #errors = '';

  /** Runs a program; resolves when it has greeted. */
  static async start([program, ...args], env = {}) {
    const started = new LineProcess();
    started.greeting = await started.#spawn(program, args, env);
    return started;
  }

  #spawn(program, args, env) {
    const child = spawn(program, args, {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#process = child;
    running.add(child);
    child.stderr.on('data', (chunk) => (this.#errors = (this.#errors + chunk).slice(-3000)));
    child.stdin.on('error', () => undefined); // said by its end, too
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(this.#failAll(error.message)));
      child.once('close', (code) => resolve(this.#failAll(`it ended with ${code}`)));
    }).finally(() => running.delete(child));
    createInterface(child.stdout).on('line', (line) => this.#waiting.shift()?.resolve(line));
    return this.#nextLine();
  }

  /** Tells it something; resolves with its answer, or rejects with the error it answers with. */
  ask(command) {
    this.#process.stdin.write(`${JSON.stringify(command)}\n`);
    return this.#nextLine();
  }

  get pid() {
    return this.#process.pid;
  }

  /** What it last wrote to its standard error. */
  get errors() {
    return this.#errors.trim();
  }

  /** Ends it at once. */
  async stop() {
    this.#process.kill('SIGKILL');
    await this.ended;
  }

  async #nextLine() {
    const line = await new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    const answer = JSON.parse(line);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  #failAll(reason) {
    for (const { reject } of this.#waiting.splice(0)) {
      reject(new Error(`${this.#process.spawnfile}: ${reason}\n${this.errors}`));
    }
  }
}
