// A process with one client of this package: calls at a steady pace, and notes when endpoints come into use.
import { subscribe } from 'node:diagnostics_channel';
import { Client, credentials } from '@grpc/grpc-js';
import { inspect, register } from '../../../src';
import { echoMethod } from '../../support/echo-backend';
import { monotonicMs } from '../../support/monotonic';
import type { ClientOrder, ClientReport, Observation } from './messages';

/** A call that has not ended by then has failed. */
const DEADLINE_MS = 10_000;
const TICK_MS = 5;
const MAX_FAILURE_TEXTS = 20;
/** More calls at once than a busy machine answers would queue up without end: those that are due are left out. */
const MAX_PENDING = 100;

/** A policy as `inspect()` describes it. */
interface PolicyReport {
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[];
  readonly children?: readonly PolicyReport[];
}

/** The endpoints that the policies of a target have. */
function endpointsOf({ endpoints = [], children = [] }: PolicyReport): readonly string[] {
  const own = endpoints.map(({ addresses }) => addresses[0] ?? '');
  return [...own, ...children.flatMap(endpointsOf)];
}

/** Calls one target. */
class CallingClient {
  private readonly client: Client;
  /** Up to when calls were sent. */
  private sentUntilMs = monotonicMs();
  private readonly timer: NodeJS.Timeout;
  private readonly failures = new Map<string, number>();
  private answers = new Map<string, number>();
  private observations: Observation[] = [];
  private used: ReadonlySet<string> = new Set();
  private sent = 0;
  private pending = 0;
  private failed = 0;
  private slowestMs = 0;

  constructor(
    private readonly target: string,
    private readonly callsPerSecond: number,
    private readonly path = echoMethod.path,
  ) {
    this.client = new Client(target, credentials.createInsecure());
    this.client.getChannel().getConnectivityState(true);
    this.timer = setInterval(() => this.sendDue(), TICK_MS);
  }

  /** Notes which endpoints have come into use since the last time. */
  observe(): void {
    const atMs = monotonicMs();
    const used = new Set(this.endpoints());
    for (const endpoint of used) {
      if (!this.used.has(endpoint)) this.observations.push({ endpoint, isUsed: true, atMs });
    }
    for (const endpoint of this.used) {
      if (!used.has(endpoint)) this.observations.push({ endpoint, isUsed: false, atMs });
    }
    this.used = used;
  }

  report(): ClientReport {
    const [reported] = inspect({ target: this.target }).targets;
    const { observations, answers, slowestMs } = this;
    this.observations = [];
    this.answers = new Map();
    this.slowestMs = 0;
    return {
      calls: this.sent - this.pending,
      pending: this.pending,
      failed: this.failed,
      failures: Object.fromEntries(this.failures),
      answers: Object.fromEntries(answers),
      slowestMs,
      observations,
      endpoints: this.endpoints(),
      state: reported?.failure ?? reported?.state ?? 'unknown',
    };
  }

  stopCalls(): void {
    clearInterval(this.timer);
  }

  private endpoints(): readonly string[] {
    const [reported] = inspect({ target: this.target }).targets;
    return reported?.policies === undefined ? [] : endpointsOf(reported.policies);
  }

  private sendDue(): void {
    const intervalMs = 1000 / this.callsPerSecond;
    const due = Math.floor((monotonicMs() - this.sentUntilMs) / intervalMs);
    this.sentUntilMs += due * intervalMs;
    for (let i = 0; i < due && this.pending < MAX_PENDING; i++) this.send();
  }

  private send(): void {
    this.sent++;
    this.pending++;
    const beganMs = monotonicMs();
    const { requestSerialize, responseDeserialize } = echoMethod;
    this.client.makeUnaryRequest(
      this.path,
      requestSerialize,
      responseDeserialize,
      Buffer.alloc(0),
      { deadline: Date.now() + DEADLINE_MS },
      (error, answer) => {
        this.pending--;
        this.slowestMs = Math.max(this.slowestMs, monotonicMs() - beganMs);
        if (error === null) count(this.answers, String(answer));
        else this.onFailed(error.message);
      },
    );
  }

  private onFailed(message: string): void {
    this.failed++;
    if (this.failures.size < MAX_FAILURE_TEXTS || this.failures.has(message)) {
      count(this.failures, message);
    }
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

let calling: CallingClient | undefined;

process.on('message', (order: ClientOrder) => {
  if (order.kind === 'open') {
    register({ bootstrap: JSON.stringify(order.bootstrap) });
    calling = new CallingClient(order.target, order.callsPerSecond, order.path);
  } else if (order.kind === 'stop') calling?.stopCalls();
  else process.send?.(calling?.report());
});
// The policies have a config at the end of the task in which it is published.
subscribe('grpc-xds:config-published', () => setImmediate(() => calling?.observe()));
process.on('disconnect', () => process.exit());
