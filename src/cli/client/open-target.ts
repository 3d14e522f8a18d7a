import { loadBootstrap } from '../../bootstrap/load-bootstrap';
import type { XdsConfig } from '../../dependency-manager/xds-config';
import type { FeatureFlags } from '../../util/feature-flags';
import { err, ok, type Result } from '../../util/result';
import type { ClientSnapshot } from '../../xds-client/client-snapshot';
import { type BootstrapOrigin, bootstrapSource } from './bootstrap-origin';
import { createClientParts, createServerAccess, type ClientParts } from './client-parts';
import type { ClientSurroundings } from './client-parts';
import { parseTarget } from '../../resolver/xds-scheme';
import { TargetWatch } from './target-watch';

/** Options of `openTarget`. */
export interface OpenTargetOptions extends ClientSurroundings {
  readonly bootstrap: BootstrapOrigin;
  /** As a channel is given it. */
  readonly target: string;
  /** Flags that the command needs. Default: none. */
  readonly flags?: Partial<FeatureFlags>;
  /** Called after each change of the config, and after each error. Default: not called. */
  readonly onUpdate?: () => void;
}

/** A target that is watched as by a channel, without connections to endpoints. */
export class OpenTarget {
  private latest: Result<XdsConfig, string> | undefined;
  private settle: () => void = () => {};

  constructor(
    readonly parts: ClientParts,
    private readonly watch: () => TargetWatch,
    private readonly onUpdate: () => void,
  ) {}

  /** The config, or why there is none; `undefined` before either is known. */
  get update(): Result<XdsConfig, string> | undefined {
    return this.latest;
  }

  /** Receives each change. */
  receive(update: Result<XdsConfig, string>): void {
    this.latest = update;
    this.settle();
    this.onUpdate();
  }

  /** Waits for the config or an error. @returns whether one is known in time. */
  untilSettled(timeoutMs: number): Promise<boolean> {
    if (this.latest !== undefined) return Promise.resolve(true);
    return new Promise((resolve) => {
      const { clock } = this.parts.environment;
      const timer = clock.setTimer(() => resolve(false), timeoutMs, true);
      this.settle = () => {
        timer.release();
        resolve(true);
      };
    });
  }

  /** Returns a copy of everything that the client knows. */
  snapshot(): ClientSnapshot {
    return this.watch().snapshot();
  }

  /** Ends the watch and its streams. */
  close(): void {
    this.watch().close();
  }
}

/** Watches a target. @returns the watch, or why the bootstrap or the target cannot be used. */
export function openTarget(options: OpenTargetOptions): Result<OpenTarget, string> {
  const target = parseTarget(options.target);
  if (!target.ok) return target;
  const parts = createClientParts(options, options.flags);
  const { transportFactory, support } = createServerAccess(parts);
  const { flags } = parts.environment;
  const bootstrap = loadBootstrap({
    ...bootstrapSource(options.bootstrap, options.env),
    ...{ support, flags },
  });
  if (!bootstrap.ok) return err(bootstrap.error.message);
  const started: { watch?: Result<TargetWatch, string> } = {};
  const watch = () => {
    if (started.watch?.ok !== true) throw new Error('The watch of the target has not started');
    return started.watch.value;
  };
  const opened = new OpenTarget(parts, watch, options.onUpdate ?? (() => {}));
  const onUpdate = (update: Result<XdsConfig, string>) => opened.receive(update);
  const watchOptions = { target: target.value, parts, transportFactory, onUpdate };
  started.watch = TargetWatch.start({ bootstrap: bootstrap.value, ...watchOptions });
  return started.watch.ok ? ok(opened) : started.watch;
}
