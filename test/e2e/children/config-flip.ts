// A control plane moves a service between two complete sets of resources while calls are made all the time.
// No call may fail, and none may see some of one set and some of the other. For a long run:
//   node --require test/support/run-typescript.cjs test/e2e/children/config-flip.ts --seconds 60
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { eventually } from '../../support/eventually';
import { Mesh, SERVICE, type MeshResources } from '../../support/mesh';
import { unaryMethod, UrlMapBackend } from '../../support/url-map-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../../support/xds-json';
import { readOptions } from '../../support/options';

/** How long and how hard. */
interface ConfigFlipOptions {
  readonly seconds: number;
  readonly flipsPerSecond: number;
  readonly callsPerSecond: number;
  /** Go on past the time until so many moves were followed, at most thirty times as long. Default: 0. */
  readonly minSwitches?: number;
}

/** More calls at once than a slow machine answers would queue up without end. */
const MAX_PENDING = 200;

/** After so many moves that came too fast to be followed, the next one waits until this one is. */
const MAX_UNFOLLOWED = 5;

/** What came of it. */
export interface ConfigFlipReport {
  readonly flips: number;
  readonly calls: number;
  /** How often a call was answered from another set than the call that was answered before it. */
  readonly switches: number;
  /** Calls answered by each backend. */
  readonly answers: Readonly<Record<string, number>>;
  /** What failed calls were told, and how often. */
  readonly failures: Readonly<Record<string, number>>;
  /** Calls with the route of one set and a backend of the other, and how often. */
  readonly mixtures: Readonly<Record<string, number>>;
  /** What the client is subscribed to when everything has come to rest. */
  readonly subscribed: readonly string[];
}

/** The two sets. What their routes do to a call is to limit its time, which the backend sees. */
const SETS = ['a', 'b'] as const;
type SetName = (typeof SETS)[number];
const LIMIT_SECONDS: Readonly<Record<SetName, number>> = { a: 1000, b: 2000 };

const setOfBackend = (hostname: string): string => hostname.slice(0, 1);
const setOfTimeLeft = (ms: number): SetName => (ms > LIMIT_SECONDS.a * 1000 ? 'b' : 'a');

/** Runs until the time is over and every call has ended. */
async function runConfigFlip(options: ConfigFlipOptions): Promise<ConfigFlipReport> {
  const mesh = await Mesh.start();
  const backends: UrlMapBackend[] = [];
  for (const name of ['a1', 'a2', 'b1', 'b2']) backends.push(await UrlMapBackend.start(name));
  const load = new Load();
  try {
    const flips = await new ConfigFlip(mesh, backends, load).run(options);
    const subscribed = await subscriptionsAtRest(mesh);
    return { flips, ...load.report(), subscribed };
  } finally {
    load.close();
    for (const backend of backends) backend.stop();
    mesh.stop();
  }
}

/** A listener, a route configuration, a cluster and an assignment, none of which the other set has. */
function resourcesOf(set: SetName, backends: readonly UrlMapBackend[]): MeshResources {
  const ports = backends
    .filter(({ hostname }) => setOfBackend(hostname) === set)
    .map(({ port }) => port);
  const limit = { max_stream_duration: `${LIMIT_SECONDS[set]}s` };
  return {
    listeners: [listenerJson(SERVICE, `routes-${set}`)],
    routes: [
      routeConfigJson(`routes-${set}`, [
        routeToCluster(`cluster-${set}`, { max_stream_duration: limit }),
      ]),
    ],
    clusters: [edsClusterJson(`cluster-${set}`)],
    endpoints: [endpointsJson(`cluster-${set}`, [{ zone: set, ports }])],
  };
}

/** Flips and calls at their own paces. */
class ConfigFlip {
  private flips = 0;
  private flipsWhenFollowed = 0;
  private switchesSeen = 0;
  private served: SetName = 'a';

  constructor(
    private readonly mesh: Mesh,
    private readonly backends: readonly UrlMapBackend[],
    private readonly load: Load,
  ) {}

  /** @returns the number of flips. */
  async run(options: ConfigFlipOptions): Promise<number> {
    this.flip();
    await this.load.untilAnswered();
    const flipping = setInterval(() => {
      if (!this.mustBeFollowed()) this.flip();
    }, 1000 / options.flipsPerSecond);
    await this.callUntilOver(options);
    clearInterval(flipping);
    await this.load.untilDone();
    return this.flips;
  }

  private async callUntilOver(options: ConfigFlipOptions): Promise<void> {
    const { seconds, callsPerSecond, minSwitches = 0 } = options;
    const startedAt = performance.now();
    const elapsed = () => (performance.now() - startedAt) / 1000;
    await new Promise<void>((resolve) => {
      let due = 0;
      const calling = setInterval(() => {
        // Whatever a late timer has left over is caught up with, unless the machine is too slow for it.
        for (const end = Math.floor(elapsed() * callsPerSecond); due < end; due++) {
          if (this.load.pendingCalls < MAX_PENDING) this.load.send();
        }
        if (elapsed() < seconds) return;
        if (this.load.switchCount < minSwitches && elapsed() < 30 * seconds) return;
        clearInterval(calling);
        resolve();
      }, 2);
    });
  }

  /** A client that needs longer for a move than the next one takes to come would stay where it is for ever. */
  private mustBeFollowed(): boolean {
    const { switchCount, followedSet } = this.load;
    if (switchCount !== this.switchesSeen) {
      this.switchesSeen = switchCount;
      this.flipsWhenFollowed = this.flips;
    }
    return followedSet !== this.served && this.flips - this.flipsWhenFollowed > MAX_UNFOLLOWED;
  }

  private flip(): void {
    const set = SETS[this.flips++ % SETS.length] ?? 'a';
    this.served = set;
    this.mesh.serve(resourcesOf(set, this.backends));
  }
}

/** The calls and what became of them. */
class Load {
  private readonly client = new Client(`xds:///${SERVICE}`, credentials.createInsecure());
  private readonly method = unaryMethod;
  private readonly answers = new Map<string, number>();
  private readonly failures = new Map<string, number>();
  private readonly mixtures = new Map<string, number>();
  private calls = 0;
  private pending = 0;
  private switches = 0;
  private lastSet: string | undefined;

  get pendingCalls(): number {
    return this.pending;
  }

  /** The set that the last answer came from. */
  get followedSet(): string | undefined {
    return this.lastSet;
  }

  get switchCount(): number {
    return this.switches;
  }

  /** Makes a call without a deadline, so that all there is comes from the route. */
  send(): void {
    this.calls++;
    this.pending++;
    const { path, requestSerialize, responseDeserialize } = this.method;
    let headers = new Metadata();
    const call = this.client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      Buffer.alloc(0),
      (error) => {
        this.pending--;
        if (error === null) this.noteAnswer(headers);
        else count(this.failures, error.message);
      },
    );
    call.on('metadata', (received: Metadata) => {
      headers = received;
    });
  }

  /** Makes a call and waits until it, and all others, have ended. */
  async untilAnswered(): Promise<void> {
    this.send();
    await this.untilDone();
  }

  /** Waits for every call; one that never ends is a failure. */
  async untilDone(): Promise<void> {
    await eventually(() => this.pending, 0, 60_000).catch(() =>
      this.failures.set('never ended', this.pending),
    );
  }

  report() {
    const { calls, switches } = this;
    return {
      calls,
      switches,
      answers: Object.fromEntries(this.answers),
      failures: Object.fromEntries(this.failures),
      mixtures: Object.fromEntries(this.mixtures),
    };
  }

  close(): void {
    this.client.close();
  }

  private noteAnswer(headers: Metadata): void {
    const [hostname] = headers.get('hostname').map(String);
    const [timeLeftMs] = headers.get('time-left-ms').map(Number);
    if (hostname === undefined || timeLeftMs === undefined) {
      count(this.failures, 'answered without headers');
      return;
    }
    count(this.answers, hostname);
    const set = setOfBackend(hostname);
    const routeSet = setOfTimeLeft(timeLeftMs);
    if (routeSet !== set) count(this.mixtures, `route of ${routeSet}, backend ${hostname}`);
    if (this.lastSet !== undefined && this.lastSet !== set) this.switches++;
    this.lastSet = set;
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Once there are only as many as one set has: nothing of the other one is held any more. */
async function subscriptionsAtRest(mesh: Mesh): Promise<readonly string[]> {
  const read = () =>
    mesh.controlPlane
      .clients()
      .flatMap(({ types }) => [...types.values()].flatMap(({ subscribed }) => subscribed));
  return eventually(read, ({ length }) => length === 4, 60_000).catch(read);
}

async function main(): Promise<void> {
  const values = readOptions('npm run trial -- flip', {
    seconds: { default: 60, about: 'how long it takes' },
    flips: { default: 50, about: 'changes of the configuration in a second' },
    calls: { default: 1000, about: 'calls in a second' },
    'min-switches': { default: 0, about: 'at least so many changes that calls have seen' },
  });
  const report = await runConfigFlip({
    seconds: values.seconds,
    flipsPerSecond: values.flips,
    callsPerSecond: values.calls,
    minSwitches: values['min-switches'],
  });
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
  const isGood = [report.failures, report.mixtures].every((bad) => Object.keys(bad).length === 0);
  process.exitCode = isGood ? 0 : 1;
}

if (require.main === module) void main();
