import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { mayBeCredential } from '../../util/secrets';
import { cutText, REDACTED, sanitizeText } from '../../util/text';
import type { RouteKey } from './route-rates';

/** The calls that are kept: of more, the latest ones. */
const MAX_CALLS = 100;
/** The headers of a call that are kept. */
const MAX_HEADERS = 16;
/** Characters of the path, and of the value of a header. */
const MAX_TEXT = 256;

/** A call that was sampled, and the way that it took. It has no messages, and of its headers those that decided its route. */
export interface SampledCall {
  /** Unique in the process. */
  readonly id: number;
  readonly target: string;
  /** When it started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Such as `/package.Service/Method`; cut after 256 characters. */
  readonly path: string;
  /**
   * The headers that conditions of routes were compared with, at most 16: values are cut after 256 characters, and those of headers that
   * may have credentials are `[redacted]`.
   */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** The index of its route in the resource of that time, and its name or conditions; absent if no route matched. */
  readonly route?: { readonly index: number; readonly label: string };
  /** The cluster of the route that was drawn; absent if the call failed before. */
  readonly cluster?: string;
  /** The endpoint of the last attempt, such as `10.0.0.1:443`; absent if there was none. */
  readonly endpoint?: string;
  /** The status that the application got. */
  readonly code: number;
  readonly durationMs: number;
}

/** A call that is sampled, until its end. */
export class OpenSample {
  private headers: SampledCall['headers'] = [];
  private route: Pick<SampledCall, 'route'> = {};
  private endpoint: string | undefined = undefined;

  constructor(
    private readonly start: Pick<SampledCall, 'id' | 'target' | 'startedAtMs' | 'path'>,
    private readonly add: (call: SampledCall) => void,
  ) {}

  /** @param headers Those that routes were compared with. */
  onMatched(headers: Iterable<readonly [string, string]>): void {
    const kept: { readonly name: string; readonly value: string }[] = [];
    for (const [name, value] of headers) {
      if (kept.length === MAX_HEADERS) break;
      kept.push({ name, value: mayBeCredential(name) ? REDACTED : shown(value) });
    }
    this.headers = kept;
  }

  onRouted({ index, label }: RouteKey): void {
    this.route = { route: { index, label: label() } };
  }

  /** @param address That of the endpoint of an attempt. */
  onPicked(address: string): void {
    this.endpoint = address;
  }

  /** @param cluster The one that the call was given to last. */
  end(code: number, durationMs: number, cluster: string | undefined): void {
    const { start, headers, route, endpoint } = this;
    this.add({
      ...{ ...start, headers, ...route },
      ...(cluster !== undefined && { cluster }),
      ...(endpoint !== undefined && { endpoint }),
      ...{ code, durationMs },
    });
  }
}

/** Samples calls while a page that wants them is served, and not at other times: see `AdminPageOptions.sampleCalls`. */
export class CallSamples {
  private readonly shares = new Set<{ readonly share: number }>();
  private currentShare = 0;
  /** The latest calls, the oldest first. */
  private calls: SampledCall[] = [];
  private count = 0;

  constructor(
    private readonly random: Random,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** The share of calls that is sampled, 0 to 1. */
  get share(): number {
    return this.currentShare;
  }

  /** Samples at least a share of calls until the handle is released. With the last release, what was sampled is forgotten. */
  acquire(share: number): Handle {
    const user = { share };
    this.shares.add(user);
    this.update();
    return createHandle(() => {
      this.shares.delete(user);
      this.update();
    });
  }

  /** Starts to sample a call of a target, if it is drawn. */
  draw(target: string, path: string): OpenSample | undefined {
    const { currentShare } = this;
    if (currentShare === 0 || this.random() >= currentShare) return undefined;
    const start = { id: ++this.count, target, startedAtMs: this.clock.now(), path: shown(path) };
    return new OpenSample(start, (call) => this.add(call));
  }

  /** Returns the latest calls of a target, the latest first. */
  of(target: string): readonly SampledCall[] {
    return this.calls.filter((call) => call.target === target).toReversed();
  }

  private add(call: SampledCall): void {
    // It may end after the last page.
    if (this.currentShare === 0) return;
    this.calls.push(call);
    if (this.calls.length > MAX_CALLS) this.calls.shift();
  }

  private update(): void {
    this.currentShare = [...this.shares].reduce((most, { share }) => Math.max(most, share), 0);
    if (this.currentShare === 0) this.calls = [];
  }
}

function shown(text: string): string {
  return sanitizeText(cutText(text, MAX_TEXT));
}
