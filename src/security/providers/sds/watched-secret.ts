import type { Result } from '../../../util/result';
import type { ResourceType } from '../../../xds-client/resource-type';
import type { ResourceWatcher, XdsError } from '../../../xds-client/resource-watcher';
import { XdsClient, type XdsClientOptions } from '../../../xds-client/xds-client';
import { LastGood } from '../last-good';
import { setPayer, type PayForWork } from '../work-payers';
import type { Secret } from './secret-parser';

/** Constructor options of a {@link WatchedSecret}. */
export interface WatchedSecretOptions<T extends object> {
  readonly type: ResourceType<Secret<T>>;
  readonly name: string;
  /** Begins every message; empty, or ends in a space. */
  readonly subject: string;
  readonly client: XdsClientOptions;
  /** Takes the work that the secret causes after it was received. */
  readonly pay: PayForWork;
  /** Called after each change. */
  readonly onChanged: () => void;
}

/**
 * One secret at a secret discovery server, as last accepted. Each has a stream of its own, as in Envoy: the agents of
 * SPIRE and Istio end a stream when one of the secrets on it is not available.
 */
export class WatchedSecret<T extends object> implements ResourceWatcher<Secret<T>> {
  private readonly client: XdsClient;
  private readonly lastGood: LastGood<T>;

  constructor(private readonly options: WatchedSecretOptions<T>) {
    const { subject, name, client } = options;
    this.client = new XdsClient(client);
    const { clock, logger } = client;
    const noun = `Secret "${name}"`;
    this.lastGood = new LastGood<T>({ subject, noun, logsFirstFailure: true, clock, logger });
  }

  /** The secret, or why there never was one; `undefined` while it is requested for the first time. */
  get result(): Result<T, string> | undefined {
    return this.lastGood.result;
  }

  /** Requests the secret. Called once. */
  start(): void {
    this.client.watch(this.options.type, this.options.name, this);
  }

  /** Ends the stream and forgets the secret. */
  close(): void {
    this.client.close();
  }

  /** A secret that was removed, or has expired, stays in use: calls would fail without it. */
  onResourceChanged(update: Result<Secret<T>, XdsError>): void {
    if (update.ok) setPayer(update.value.value, this.options.pay);
    const isChanged = update.ok
      ? this.lastGood.replace(update.value.value)
      : this.lastGood.fail(update.error.message);
    if (isChanged) this.options.onChanged();
  }

  onAmbientError(error: XdsError | undefined): void {
    if (error === undefined) this.lastGood.recover();
    else this.lastGood.fail(error.message);
  }
}
