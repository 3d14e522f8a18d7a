// The process with the clients: makes calls at a steady pace and tells of what came of them.
import { Client, credentials } from '@grpc/grpc-js';
import { register } from '../../src';
import { echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import type { ClientNews, ClientOrder, OpenOrder } from './client-messages';

/** More calls at once than a slow machine answers would queue up without end. */
const MAX_PENDING = 50;

/** A call that has not ended by then has failed. */
const PATIENCE_MS = 30_000;

const SystemDate = Date;
let clockOffsetMs = 0;

/** The wall clock, with jumps. */
class JumpingDate extends SystemDate {
  constructor(date: number | string = JumpingDate.now()) {
    super(date);
  }

  static override now(): number {
    return SystemDate.now() + clockOffsetMs;
  }
}

/** Calls at a steady pace. They have no deadline, so that it is not the clock that makes them fail. */
class Load {
  private readonly client: Client;
  private readonly timer: NodeJS.Timeout;
  private readonly failures: string[] = [];
  private answerer = '';
  private calls = 0;
  private pending = 0;

  constructor(
    private readonly id: number,
    { target, bootstrap, callsPerSecond }: OpenOrder,
  ) {
    this.client = new Client(target, credentials.createInsecure(), {
      'grpc_xds.bootstrap': JSON.stringify(bootstrap),
    });
    this.timer = setInterval(() => this.send(), 1000 / callsPerSecond);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await eventually(
      () => this.pending,
      (pending) => pending === 0,
      2 * PATIENCE_MS,
    );
    this.client.close();
    const { id: client, calls, failures } = this;
    tell({ kind: 'closed', client, calls, failures });
  }

  private send(): void {
    if (this.pending >= MAX_PENDING) return;
    this.calls++;
    this.pending++;
    const { path, requestSerialize, responseDeserialize } = echoMethod;
    const call = this.client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      Buffer.alloc(0),
      (error, answer) => {
        clearTimeout(patience);
        this.pending--;
        if (error !== null) this.failures.push(error.message);
        else this.onAnswer(String(answer));
      },
    );
    const patience = setTimeout(() => call.cancel(), PATIENCE_MS);
  }

  private onAnswer(by: string): void {
    if (by === this.answerer) return;
    this.answerer = by;
    tell({ kind: 'answer', client: this.id, by });
  }
}

const loads = new Map<number, Load>();

function obey(order: ClientOrder): void {
  switch (order.kind) {
    case 'open':
      register();
      loads.set(order.client, new Load(order.client, order));
      return;
    case 'close':
      void loads.get(order.client)?.close();
      loads.delete(order.client);
      return;
    case 'cpu': {
      const { user, system } = process.cpuUsage();
      tell({ kind: 'cpu', usedMs: (user + system) / 1000 });
      return;
    }
    case 'jump':
      clockOffsetMs += order.byMs;
  }
}

function tell(news: ClientNews): void {
  process.send?.(news);
}

Object.assign(globalThis, { Date: JumpingDate });
process.on('message', (order: ClientOrder) => obey(order));
process.on('disconnect', () => process.exit());
