import { Status, type Metadata } from '../../../src/grpc-js';
import type { CallFilter } from '../../../src/http-filters/call-filter';
import { ActiveFaults, createFaultFilter } from '../../../src/http-filters/fault/fault-filter';
import { FaultConfig } from '../../../src/http-filters/fault/fault-parser';
import type { CallFilterFactory } from '../../../src/http-filters/client-filter';
import { routerFilter } from '../../../src/http-filters/router/router-filter';
import { Violations } from '../../../src/util/violations';
import { encodeMessage } from '../../resources/decode-json';
import { FakeClock } from '../../support/fake-clock';
import type { Json } from '../../support/xds-json';
import { callWith, failureOf, headersOf, statusOf } from '../calls';
import { noNested } from '../../support/no-nested-filters';

const FAULT = 'envoy.extensions.filters.http.fault.v3.HTTPFault';
const always = { numerator: 100 };
const delayBy = (fixed_delay: string) => ({ delay: { fixed_delay, percentage: always } });
const abortWith = (grpc_status: number) => ({ abort: { grpc_status, percentage: always } });

/** The fault filter of a process. */
class Scene {
  readonly clock = new FakeClock();
  readonly activeFaults = new ActiveFaults();
  random = 0;
  readonly filter = createFaultFilter({
    clock: this.clock,
    random: () => this.random,
    activeFaults: this.activeFaults,
  });

  prepare(json: Json, override?: Json): CallFilterFactory | undefined {
    return this.filter.prepare(this.parse(json), override && this.parse(override));
  }

  call(factory: CallFilterFactory | undefined, headers = headersOf()): Call {
    return new Call(factory?.create(callWith(headers), 'f'), headers);
  }

  /** How many faults and timers there are. */
  get held(): readonly [faults: number, timers: number] {
    return [this.activeFaults.count, this.clock.pendingTimers];
  }

  private parse(json: Json): FaultConfig {
    const bytes = encodeMessage(FAULT, json);
    const violations = Violations.root();
    const config = { kind: 'message', typeName: FAULT, bytes } as const;
    const parsed = this.filter.parseConfig(config, violations, noNested);
    if (parsed instanceof FaultConfig) return parsed;
    throw new Error(violations.all.join('\n'));
  }
}

/** What became of one call: `waiting`, `sent`, or the status it was aborted with. */
class Call {
  state = 'waiting';
  readonly sent: Metadata[] = [];

  constructor(
    private readonly filter: CallFilter | undefined,
    headers: Metadata,
  ) {
    void this.run(headers);
  }

  private async run(headers: Metadata): Promise<void> {
    try {
      const sent = (await this.filter?.onRequestHeaders?.(headers)) ?? headers;
      this.sent.push(sent);
      this.state = 'sent';
    } catch (error) {
      this.state = await failureOf(() => {
        throw error;
      });
    }
  }

  end(code: Status = Status.CANCELLED): void {
    expect(this.filter?.onStatus?.(statusOf(code))).toEqual(statusOf(code));
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('the fault filter', () => {
  let scene: Scene;
  beforeEach(() => {
    scene = new Scene();
  });

  it.each<[string, Json, Json | undefined]>([
    ['without faults', {}, undefined],
    [
      'with faults for nobody',
      { delay: { fixed_delay: '1s' }, abort: { grpc_status: 1 } },
      undefined,
    ],
    [
      'with header faults for nobody',
      { delay: { header_delay: {} }, abort: { header_abort: {} } },
      undefined,
    ],
    ['that may have no active faults', { ...abortWith(1), max_active_faults: 0 }, undefined],
    ['overridden by nothing', abortWith(1), {}],
  ])('%s costs calls nothing', (_case, json, override) => {
    expect(scene.prepare(json, override)).toBeUndefined();
  });

  it('creates no filter for calls without a fault', () => {
    const factory = scene.prepare({
      abort: { grpc_status: 1, percentage: { numerator: 10 } },
    });
    scene.random = 0.1;
    expect(factory?.create(callWith(), 'f')).toBeUndefined();
    scene.random = 0.09;
    expect(factory?.create(callWith(), 'f')).toBeDefined();
  });

  it('aborts calls before they are sent', async () => {
    const call = scene.call(scene.prepare(abortWith(Status.NOT_FOUND)));
    await settle();
    expect(call.state).toBe(
      '5: Aborted by fault injection: HTTP filter "f": see its config in the listener or route',
    );
    expect(scene.held).toEqual([0, 0]);
  });

  it('ends calls with the status OK of the config', async () => {
    const call = scene.call(scene.prepare(abortWith(Status.OK)));
    await settle();
    expect(call.state).toBe(
      '0: Aborted by fault injection: HTTP filter "f": see its config in the listener or route',
    );
  });

  it('delays calls, then sends them unchanged', async () => {
    const headers = headersOf({ x: '1' });
    const call = scene.call(scene.prepare(delayBy('1.5s')), headers);
    scene.clock.advance(1499);
    await settle();
    expect([call.state, scene.held]).toEqual(['waiting', [1, 1]]);
    scene.clock.advance(1);
    expect(scene.held).toEqual([0, 0]);
    await settle();
    expect(call.state).toBe('sent');
    expect(call.sent[0]).toBe(headers);
    call.end(Status.OK);
    expect(scene.held).toEqual([0, 0]);
  });

  it('aborts calls after their delay', async () => {
    const call = scene.call(scene.prepare({ ...delayBy('1s'), ...abortWith(Status.ABORTED) }));
    await settle();
    expect(call.state).toBe('waiting');
    scene.clock.advance(1000);
    await settle();
    expect(call.state).toBe(
      '10: Aborted by fault injection: HTTP filter "f": see its config in the listener or route',
    );
    call.end(Status.ABORTED);
    expect(scene.held).toEqual([0, 0]);
  });

  it('releases the delay of a call that ends during it', async () => {
    const calls = Array.from({ length: 100 }, () => scene.call(scene.prepare(delayBy('60s'))));
    expect(scene.held).toEqual([100, 100]);
    for (const call of calls) call.end(Status.DEADLINE_EXCEEDED);
    expect(scene.held).toEqual([0, 0]);
    scene.clock.advance(60_000);
    await settle();
    expect(new Set(calls.map(({ state }) => state))).toEqual(new Set(['waiting']));
  });

  it('keeps the process alive while it delays a call', () => {
    const setTimer = jest.spyOn(scene.clock, 'setTimer');
    scene.call(scene.prepare(delayBy('1s')));
    expect(setTimer).toHaveBeenCalledWith(expect.anything(), 1000, true);
  });

  it('takes the override instead of the config', async () => {
    const call = scene.call(scene.prepare(abortWith(1), abortWith(2)));
    await settle();
    expect(call.state).toBe(
      '2: Aborted by fault injection: HTTP filter "f": see its config in the listener or route',
    );
  });

  it('reads the headers that the filters before it changed', async () => {
    const json = { abort: { header_abort: {}, percentage: always } };
    const filter = scene.prepare(json)?.create(callWith(), 'f');
    const name = 'x-envoy-fault-abort-grpc-request';
    const changed = headersOf({ [name]: '8' });
    expect(await failureOf(() => filter?.onRequestHeaders?.(changed))).toBe(
      '8: Aborted by fault injection: HTTP filter "f": see its config in the listener or route',
    );
    const unaffected = headersOf();
    const another = scene.prepare(json)?.create(callWith(changed), 'f');
    expect(another?.onRequestHeaders?.(unaffected)).toBe(unaffected);
  });

  it('rejects a config of another filter', () => {
    const foreign = routerFilter.parseConfig(
      { kind: 'message', typeName: 'x', bytes: new Uint8Array(0) },
      Violations.root(),
      noNested,
    );
    if (foreign === undefined) throw new Error('The router takes everything');
    expect(() => scene.filter.prepare(foreign, undefined)).toThrow(
      'A config of type envoy.extensions.filters.http.router.v3.Router was not parsed by its filter',
    );
  });
});

describe('the number of active faults', () => {
  it('is limited over all configs of the process', async () => {
    const scene = new Scene();
    const limited = scene.prepare({ ...delayBy('1s'), max_active_faults: 2 });
    const unlimited = scene.prepare(delayBy('5s'));
    const first = scene.call(unlimited);
    const second = scene.call(limited);
    const third = scene.call(limited);
    const fourth = scene.call(unlimited);
    await settle();
    expect([first, second, third, fourth].map(({ state }) => state)).toEqual([
      'waiting',
      'waiting',
      'sent',
      'waiting',
    ]);
    expect(scene.activeFaults.count).toBe(3);
    fourth.end();
    second.end();
    const fifth = scene.call(limited);
    await settle();
    expect(fifth.state).toBe('waiting');
    for (const call of [first, fifth]) call.end();
    expect(scene.held).toEqual([0, 0]);
  });

  it('applies to aborts, too', async () => {
    const scene = new Scene();
    const delayed = scene.call(scene.prepare(delayBy('1s')));
    const factory = scene.prepare({ ...abortWith(1), max_active_faults: 1 });
    const spared = scene.call(factory);
    await settle();
    expect(spared.state).toBe('sent');
    delayed.end();
    const aborted = scene.call(factory);
    await settle();
    expect(aborted.state).toBe(
      '1: Aborted by fault injection: HTTP filter "f": see its config in the listener or route',
    );
  });

  it('counts an abort only while it is applied', async () => {
    const scene = new Scene();
    const factory = scene.prepare({ ...abortWith(1), max_active_faults: 1 });
    const calls = [scene.call(factory), scene.call(factory)];
    await settle();
    expect(calls.map(({ state }) => state)).toEqual([
      '1: Aborted by fault injection: HTTP filter "f": see its config in the listener or route',
      '1: Aborted by fault injection: HTTP filter "f": see its config in the listener or route',
    ]);
  });
});
