import { isDeepStrictEqual } from 'node:util';
import type { RegisterOptions } from './register-options';
import { XdsError } from '../util/xds-error';

/** An option as a call of `register()` gave it. */
interface GivenOption {
  readonly value: unknown;
  /** A copy of plain data that the application cannot change later; the value itself for others. */
  readonly compared: unknown;
  /** Where `register()` was called. */
  readonly site: string;
}

/** The options that calls of `register()` have given since the process started, or since `shutdown()`. */
export class GivenOptions {
  private constructor(private readonly byName: ReadonlyMap<string, GivenOption>) {}

  static readonly none = new GivenOptions(new Map());

  /** All options: each call adds those that it gives. */
  get options(): RegisterOptions {
    return Object.fromEntries([...this.byName].map(([name, { value }]) => [name, value]));
  }

  /**
   * Adds the options of a call. An option with the value `undefined` is not given.
   *
   * @param site Where `register()` was called.
   * @throws XdsError if an option has another value than an earlier call gave it; names both calls.
   */
  with(options: RegisterOptions, site: string): GivenOptions {
    const byName = new Map(this.byName);
    const entries: readonly (readonly [string, unknown])[] = Object.entries(options);
    for (const [name, value] of entries) {
      if (value === undefined) continue;
      const compared = name === 'bootstrap' ? asJson(value) : value;
      const earlier = byName.get(name);
      if (earlier === undefined) byName.set(name, { value, compared, site });
      else if (!isSame(name, earlier.compared, compared)) {
        throw new XdsError('XDS_OPTION_CONFLICT', describeConflict(name, earlier.site, site));
      }
    }
    return new GivenOptions(byName);
  }
}

/** Compares values of an option. Two loggers that look the same may write to different places. */
function isSame(name: string, a: unknown, b: unknown): boolean {
  return name === 'logger' ? a === b : isDeepStrictEqual(a, b);
}

/** Returns what the bootstrap says, whether it is an object or JSON text; the value itself if it is no JSON. */
function asJson(bootstrap: unknown): unknown {
  try {
    return JSON.parse(typeof bootstrap === 'string' ? bootstrap : JSON.stringify(bootstrap));
  } catch {
    return bootstrap;
  }
}

function describeConflict(name: string, earlier: string, site: string): string {
  const own =
    name === 'bootstrap'
      ? '; for a channel or a server with a bootstrap of its own, use the channel option grpc_xds.bootstrap or XdsServer({ bootstrap })'
      : '';
  return (
    `register() at ${site}: the option ${name} has another value than in register() at ${earlier}: ` +
    `give it in one of the calls only, or call shutdown() before the second${own}`
  );
}
