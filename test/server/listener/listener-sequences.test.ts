import { fakeTypes, FakeResourceSource } from '../../support/fake-resource-source';
import { seededRandom } from '../../support/seeded-random';
import { routeConfig, socketListener } from '../../support/xds-builders';
import type { FilterChain, ListenerResource } from '../../../src/resources/listener/listener';
import {
  ListenerWatch,
  type ListenerWatchOptions,
} from '../../../src/server/listener/listener-watch';
import { silentLogger } from '../../../src/util/logger';
import type { Random } from '../../../src/util/random';
import type { WatchError } from '../../../src/xds-client/resource-watcher';
import { FakeClock } from '../../support/fake-clock';
import { bootstrap } from '../../xds-client/harness';

const NAMES = ['a', 'b', 'c', 'd'];
const SEQUENCES = 40;
const EVENTS = 60;

type Routes = FilterChain['httpConnectionManager']['routes'];

const chainWith = (name: string, routes: Routes): FilterChain => ({
  name,
  tls: undefined,
  httpConnectionManager: { routes, httpFilters: [], maxStreamDurationMs: undefined },
});

const chainOf = (routeConfigName: string) =>
  chainWith(routeConfigName, { kind: 'rds', routeConfigName });

/** A listener that differs from others by its revision, and that a server may not be able to use. */
interface Sample {
  readonly revision: number;
  readonly names: readonly string[];
  readonly isUsable: boolean;
}

function toListener({ revision, names, isUsable }: Sample): ListenerResource {
  return socketListener('inbound', {
    filterChains: names.map((name) => ({
      ...chainOf(name),
      match: {
        prefixRanges: [],
        sourcePrefixRanges: [],
        sourcePorts: [],
        isRawBuffer: false,
        source: 'any',
      },
    })),
    address: { host: isUsable ? '10.0.0.1' : '10.0.0.2', port: 8080 },
    defaultFilterChain: chainWith(`revision ${revision}`, {
      kind: 'inline',
      routeConfig: routeConfig(''),
    }),
    encoded: Buffer.from(JSON.stringify([revision, names, isUsable])),
  });
}

const error = (text: string): WatchError => ({ kind: 'does-not-exist', message: text });

/** What a server must do, by the rules of gRFC A36 and nothing else: it looks at everything after each event. */
class Model {
  private wanted: Sample | undefined;
  current: Sample | undefined;
  generations = 0;
  readonly answers = new Map<string, string>();
  private readonly watchedSince = new Map<string, number>();

  constructor(private readonly now: () => number) {}

  listener(sample: Sample | undefined): void {
    this.wanted = sample;
    if (sample?.isUsable !== true) this.wanted = this.current = undefined;
    this.look();
  }

  /** The names that are watched. */
  get names(): readonly string[] {
    return NAMES.filter((name) => this.uses(this.wanted, name) || this.uses(this.current, name));
  }

  look(): void {
    const { wanted, names } = this;
    for (const name of [...this.watchedSince.keys()])
      if (!names.includes(name)) this.watchedSince.delete(name);
    for (const name of names)
      if (!this.watchedSince.has(name)) this.watchedSince.set(name, this.now());
    if (wanted === undefined || wanted.revision === this.current?.revision) return;
    if (!wanted.names.every((name) => this.isSettled(name))) return;
    this.current = wanted;
    this.generations++;
    this.look();
  }

  private isSettled(name: string): boolean {
    const since = this.watchedSince.get(name) ?? this.now();
    return this.answers.has(name) || this.now() - since >= 15_000;
  }

  private uses(sample: Sample | undefined, name: string): boolean {
    return sample?.names.includes(name) === true;
  }
}

/** One server and its model, after the same events. */
class Sequence {
  private readonly clock = new FakeClock();
  private readonly source = new FakeResourceSource();
  private readonly model = new Model(() => this.clock.monotonicMs());
  private watch: ListenerWatch | undefined;
  private readonly samples: Sample[] = [];
  private generations = 0;
  private current: string | undefined;
  private readonly changedRoutes: string[] = [];

  constructor(private readonly random: Random) {
    const { clock, source } = this;
    const options: ListenerWatchOptions = {
      client: source,
      types: fakeTypes,
      clock,
      logger: silentLogger,
      bootstrap: bootstrap(),
      name: 'inbound',
      address: { host: '10.0.0.1', port: 8080 },
      watcher: {
        onServing: ({ encoded }) => {
          this.generations++;
          this.current = Buffer.from(encoded).toString();
        },
        onRoutes: (name) => this.changedRoutes.push(name),
        onNotServing: () => (this.current = undefined),
      },
    };
    source.run(() => {
      this.watch = new ListenerWatch(options);
    });
  }

  /** Lets one thing happen, and compares. @returns what it was. */
  step(revision: number): string {
    const { random, clock, source, model } = this;
    const kind = Math.floor(random() * 10);
    this.changedRoutes.length = 0;
    let event: string;
    if (kind < 3) event = this.sendListener(this.makeSample(revision));
    else if (kind === 3) event = this.sendListener(this.samples.at(-1));
    else if (kind === 4) event = this.sendListener(undefined);
    else if (kind < 8)
      event = this.sendRoutes(NAMES[Math.floor(random() * NAMES.length)] ?? '', kind);
    else if (kind === 8) {
      source.ambient(fakeTypes.listener, 'inbound', error('ambient'));
      event = 'ambient';
    } else {
      const ms = Math.floor(random() * 20_000);
      this.advance(ms);
      event = `advance ${ms}`;
    }
    clock.flush();
    model.look();
    this.compare(event);
    return event;
  }

  end(): void {
    this.watch?.release();
    expect([this.source.watchCount, this.clock.pendingTimers]).toEqual([0, 0]);
  }

  private makeSample(revision: number): Sample {
    const names = NAMES.filter(() => this.random() < 0.4);
    const sample = { revision, names, isUsable: this.random() < 0.85 };
    this.samples.push(sample);
    return sample;
  }

  private sendListener(sample: Sample | undefined): string {
    if (sample === undefined) this.source.fail(fakeTypes.listener, 'inbound', error('gone'));
    else this.source.serve(fakeTypes.listener, 'inbound', toListener(sample));
    this.model.listener(sample);
    return `listener ${JSON.stringify(sample)}`;
  }

  private sendRoutes(name: string, kind: number): string {
    const { source, model } = this;
    const isInUse = model.current?.names.includes(name) === true;
    if (kind < 7) source.serve(fakeTypes.routeConfig, name, routeConfig(name));
    else source.fail(fakeTypes.routeConfig, name, error(`no ${name}`));
    model.answers.set(name, kind < 7 ? 'routes' : `no ${name}`);
    if (isInUse) expect(this.changedRoutes).toEqual([name]);
    return `routes ${name} ${kind}`;
  }

  /** In small steps, so that the model sees the time that the server sees. */
  private advance(ms: number): void {
    for (let left = ms; left > 0; left -= 100) {
      this.clock.advance(Math.min(left, 100));
      this.model.look();
    }
  }

  private compare(event: string): void {
    const { model, watch, source } = this;
    const state = {
      event,
      current: this.current,
      generations: this.generations,
      watched: source.watched(fakeTypes.routeConfig),
      routes: model.current?.names.map((name) => {
        const routes = watch?.routesOf(name);
        return routes?.ok === true ? 'routes' : routes?.error;
      }),
    };
    const { current } = model;
    expect(state).toEqual({
      event,
      current: current && JSON.stringify([current.revision, current.names, current.isUsable]),
      generations: model.generations,
      watched: model.names,
      routes: current?.names.map(
        (name) => model.answers.get(name) ?? `RouteConfiguration "${name}": not received yet`,
      ),
    });
  }
}

it('does what the rules say, whatever happens in whichever order', () => {
  for (let seed = 1; seed <= SEQUENCES; seed++) {
    const sequence = new Sequence(seededRandom(seed));
    const events: string[] = [];
    try {
      for (let i = 0; i < EVENTS; i++) events.push(sequence.step(i));
      sequence.end();
    } catch (error) {
      throw new Error(`seed ${seed}, after ${events.join(', ')}`, { cause: error });
    }
  }
});
