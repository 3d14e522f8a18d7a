import type { Handle } from '../../src/util/handle';
import type { XdsClient } from '../../src/xds-client/xds-client';
import type { FakeStream } from '../support/fake-transport';
import { seededRandom } from '../support/seeded-random';
import { DeltaHarness, Harness, RecordingWatcher } from './harness';
import { wrapper, type TestResourceType } from './test-resource';

const NAMES = ['a', 'b', 'c', 'd', 'constructor'];

/** What a server remembers of one type on one stream. */
interface Progress {
  names: readonly string[];
  readonly sent: Set<string>;
  version: number;
}

/**
 * A server of the thrifty kind: on a stream it sends a type only if something of it has changed, or if a name
 * is asked for that it has not sent since that name last came onto the list.
 */
class ThriftyServer {
  readonly resources = new Map<string, string>();
  private version = 1;
  private readonly streams = new Map<FakeStream, Map<string, Progress>>();

  set(name: string, value: string | undefined): void {
    if (value === undefined) this.resources.delete(name);
    else this.resources.set(name, value);
    this.version++;
  }

  /** Reads the requests that have come, and answers the newest of each type if there is need. */
  serve(stream: FakeStream, types: readonly TestResourceType[]): void {
    const progress = this.streams.get(stream) ?? new Map<string, Progress>();
    this.streams.set(stream, progress);
    for (const { typeUrl, resourceNames } of stream.requests) {
      const { sent, version } = progress.get(typeUrl) ?? { sent: new Set<string>(), version: 0 };
      for (const name of sent) if (!resourceNames.includes(name)) sent.delete(name);
      progress.set(typeUrl, { names: resourceNames, sent, version });
    }
    stream.clearRequests();
    for (const type of types) this.answer(stream, type, progress.get(type.typeUrl));
  }

  private answer(stream: FakeStream, type: TestResourceType, progress?: Progress): void {
    if (progress === undefined) return;
    const { names, sent, version } = progress;
    if (version === this.version && names.every((name) => sent.has(name))) return;
    progress.version = this.version;
    for (const name of names) sent.add(name);
    const present = [...this.resources].filter(([name]) => names.includes(name));
    stream.respond({
      typeUrl: type.typeUrl,
      versionInfo: `${this.version}`,
      resources: present.map(([name, value]) => type.resource(name, value)),
    });
  }
}

/** What an incremental server remembers of one type on one stream: what it has told of each name asked for. */
type Told = Map<string, string | undefined>;

/** Told nothing of a name yet. */
const NOTHING_TOLD = 'nothing';

/** An incremental server of the thrifty kind: it says what it has not said, and nothing else. */
class ThriftyDeltaServer {
  readonly resources = new Map<string, string>();
  private readonly streams = new Map<FakeStream, Map<string, Told>>();

  set(name: string, value: string | undefined): void {
    if (value === undefined) this.resources.delete(name);
    else this.resources.set(name, value);
  }

  /** Reads the requests that have come, and says what there is to say. */
  serve(stream: FakeStream, types: readonly TestResourceType[]): void {
    const progress = this.streams.get(stream) ?? new Map<string, Told>();
    this.streams.set(stream, progress);
    for (const request of stream.deltaRequests) {
      const told = progress.get(request.typeUrl);
      const current = told ?? new Map<string, string | undefined>();
      progress.set(request.typeUrl, current);
      for (const name of request.resourceNamesUnsubscribe) current.delete(name);
      for (const name of request.resourceNamesSubscribe) current.set(name, NOTHING_TOLD);
      for (const [name, version] of request.initialResourceVersions) current.set(name, version);
    }
    stream.clearRequests();
    for (const type of types) this.answer(stream, type, progress.get(type.typeUrl) ?? new Map());
  }

  private answer(stream: FakeStream, type: TestResourceType, told: Told): void {
    const news = [...told].filter(([name, version]) => this.resources.get(name) !== version);
    if (news.length === 0) return;
    const names = news.map(([name]) => name);
    for (const name of names) told.set(name, this.resources.get(name));
    stream.respondDelta({
      typeUrl: type.typeUrl,
      // A resource's version is what it is.
      resources: names.flatMap((name) => {
        const value = this.resources.get(name);
        if (value === undefined) return [];
        return [wrapper(name, type.resource(name, value), { version: value })];
      }),
      removedResources: names.filter((name) => !this.resources.has(name)),
    });
  }
}

interface RunningWatch {
  readonly type: TestResourceType;
  readonly name: string;
  readonly watcher: RecordingWatcher;
  readonly handle: Handle;
}

class Scenario {
  private readonly h: Harness;
  private readonly random: () => number;
  private readonly server: ThriftyServer | ThriftyDeltaServer;
  private readonly types: readonly TestResourceType[];
  /** Of three targets. */
  private readonly clients: readonly XdsClient[];
  private readonly watches: RunningWatch[] = [];
  private counter = 0;

  constructor(seed: number, isDelta: boolean) {
    this.random = seededRandom(seed);
    this.h = isDelta ? new DeltaHarness() : new Harness();
    this.server = isDelta ? new ThriftyDeltaServer() : new ThriftyServer();
    this.types = [this.h.listener, this.h.endpoints];
    this.clients = [this.h.client, this.h.clientOf('xds:///b'), this.h.clientOf('xds:///c')];
  }

  step(): void {
    const { clock, client } = this.h;
    const actions = [
      () => this.watch(),
      () => this.watch(),
      () => this.release(),
      // Several changes in one go.
      () =>
        client.run(() => {
          for (let round = 0; round < 2; round++) {
            this.release();
            this.watch();
          }
        }),
      () => this.server.set(this.pick(NAMES), `value ${this.counter++}`),
      () => this.server.set(this.pick(NAMES), undefined),
      () => this.server.set(this.pick(NAMES), `!invalid ${this.counter++}`),
      () => this.stream((stream) => stream.end()),
      () => this.stream((stream) => stream.respondBytes(Buffer.from([0x0a, 0x7f]))),
      () => this.stream((stream) => stream.confirmSent()),
      () => (this.h.server.isReachable = !this.h.server.isReachable),
      () => clock.advance(this.random() * 20_000),
      () => this.serve(),
      () => this.serve(),
    ];
    this.pick(actions)();
    clock.flush();
  }

  /** Lets the network and the server be well for long enough. */
  settle(): void {
    this.h.server.isReachable = true;
    for (let round = 0; round < 200; round++) {
      this.stream((stream) => stream.confirmSent());
      this.serve();
      this.h.clock.advance(1000);
    }
  }

  /** The watches that do not know the truth, in words. */
  mistaken(): string[] {
    return this.watches.flatMap(({ type, name, watcher }) => {
      const truth = this.server.resources.get(name);
      const last = watcher.told.at(-1);
      const isFine = last === 'ambient over' || last?.startsWith('value ') === true;
      const problem = `${type.typeName} ${name} is ${truth} and was told: ${last}`;
      if (last === undefined) return [problem];
      if (truth === undefined) {
        // An endpoint resource does not go away by being left out.
        return isFine && type.allResourcesRequiredInSotw ? [problem] : [];
      }
      if (truth.startsWith('!')) return isFine ? [problem] : [];
      return isFine && watcher.values.at(-1)?.text === truth ? [] : [problem];
    });
  }

  private watch(): void {
    const [type, name, watcher] = [this.pick(this.types), this.pick(NAMES), new RecordingWatcher()];
    const handle = this.pick(this.clients).watch(type, name, watcher);
    this.watches.push({ type, name, watcher, handle });
  }

  private release(): void {
    const index = Math.floor(this.random() * this.watches.length);
    for (const { handle } of this.watches.splice(index, 1)) handle.release();
  }

  private serve(): void {
    this.stream((stream) => this.server.serve(stream, this.types));
  }

  private stream(use: (stream: FakeStream) => void): void {
    const stream = this.h.server.streams.at(-1);
    if (stream?.isOpen === true) use(stream);
  }

  private pick<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.random() * list.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}

// Whatever happens in whatever order, once things are well every watch knows the truth. That nothing throws
// and that nothing is left behind is checked by the harness.
describe('any sequence of watches, updates and failures', () => {
  const seeds = Array.from({ length: 150 }, (_, seed) => seed);

  it.each(seeds)('ends well in state of the world (seed %i)', (seed) => endsWell(seed, false));
  it.each(seeds)('ends well with incremental streams (seed %i)', (seed) => endsWell(seed, true));

  function endsWell(seed: number, isDelta: boolean): void {
    const scenario = new Scenario(seed, isDelta);
    for (let step = 0; step < 120; step++) scenario.step();
    scenario.settle();
    expect(scenario.mistaken()).toEqual([]);
  }
});
