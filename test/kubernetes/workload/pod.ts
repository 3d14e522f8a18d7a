import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { forkChild } from './child';

/** The port that every pod listens on. */
export const POD_PORT = 50051;

/** Pods start on machines of their own: here, their start is not to take the time of what is measured. */
const STARTING_PRIORITY = 15;

/** Where a pod runs. */
export interface Placement {
  readonly nodeName: string;
  readonly zone: string;
}

let addresses = 0;

/** An address that no other pod of this run has had. */
function nextAddress(): string {
  const n = 256 + addresses++;
  return `10.244.${n >> 8}.${n & 255}`;
}

/** A backend in a process of its own, and its conditions as its EndpointSlice has them. */
export class Pod {
  readonly address = nextAddress();
  private readonly child: ChildProcess;
  private readonly ended: Promise<unknown>;
  isTerminating = false;

  private constructor(
    readonly name: string,
    readonly placement: Placement,
  ) {
    this.child = forkChild('pod', [name, this.address, String(POD_PORT)]);
    this.ended = once(this.child, 'exit');
    this.setPriority(STARTING_PRIORITY);
  }

  /** Starts a pod and waits until it is ready. */
  static async start(name: string, placement: Placement): Promise<Pod> {
    const pod = new Pod(name, placement);
    const ended = pod.ended.then(() => {
      throw new Error(`the pod ${name} ended`);
    });
    await Promise.race([once(pod.child, 'message'), ended]);
    ended.catch(() => undefined);
    pod.setPriority(0);
    return pod;
  }

  get endpoint(): string {
    return `${this.address}:${POD_PORT}`;
  }

  /** Ends it as the kubelet does. Resolves when its last call has ended. */
  async terminate(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.ended;
  }

  private setPriority(priority: number): void {
    if (this.child.pid !== undefined) setPriority(this.child.pid, priority);
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}
