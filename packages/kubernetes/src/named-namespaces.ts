import type { ApiFailure, KubernetesApi } from './api/kubernetes-api';
import { MISSING_MS } from './api/reflector-steps';
import { namespacePath } from './api/watched-kinds';
import type { Clock } from '../../../src/util/clock';
import type { Handle } from '../../../src/util/handle';
import type { Logger } from '../../../src/util/logger';
import { quoteText } from '../../../src/util/text';

export interface NamedNamespacesOptions {
  readonly api: Pick<KubernetesApi, 'call'>;
  readonly names: Iterable<string>;
  /** Whether a namespace has no Services: one that has some exists. */
  readonly isEmpty: (name: string) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is known of a namespace. */
type Existence = 'exists' | 'missing' | 'hidden';

/**
 * Logs which of the namespaces that are read by name do not exist, once, and when they do: the API server answers for one that does not
 * as for one that is empty. Only those without Services cost a request, every 30 s.
 */
export class NamedNamespaces {
  private readonly known = new Map<string, Existence>();
  private readonly calls: Handle[] = [];
  private timer: Handle | undefined;

  constructor(private readonly options: NamedNamespacesOptions) {}

  /** Looks now, when the Services have been listed, and every 30 s; may be called once. */
  start(): void {
    const { names, isEmpty, clock } = this.options;
    this.cancel();
    for (const name of new Set(names)) {
      if (isEmpty(name)) this.request(name);
      else this.settle(name, 'exists');
    }
    this.timer = clock.setTimer(() => this.start(), MISSING_MS);
  }

  /** Ends without a further line. */
  stop(): void {
    this.timer?.release();
    this.cancel();
  }

  private request(name: string): void {
    const call = this.options.api.call({ path: namespacePath(name) }, (answer) => {
      if (answer.ok) this.settle(name, 'exists');
      else this.onFailure(name, answer.error);
    });
    this.calls.push(call);
  }

  /** Cancels what has not been answered. */
  private cancel(): void {
    for (const call of this.calls.splice(0)) call.release();
  }

  /** An API server that is away says nothing of the namespace. */
  private onFailure(name: string, { status, message }: ApiFailure): void {
    if (status === 404) this.settle(name, 'missing');
    else if (status === 403) this.settle(name, 'hidden', message);
  }

  private settle(name: string, existence: Existence, message = ''): void {
    const before = this.known.get(name);
    if (before === existence) return;
    this.known.set(name, existence);
    const { logger } = this.options;
    const namespace = `kubernetes: the namespace ${quoteText(name)}`;
    if (existence === 'missing') {
      const line = () =>
        `${namespace} does not exist, and nothing is served of it until it does: check its name`;
      logger.error(line, { event: 'kubernetes-waiting' });
    } else if (existence === 'hidden') {
      const rule = '{apiGroups: [""], resources: ["namespaces"], verbs: ["get"]}';
      const line = () =>
        `${namespace} has no Services, and it is not known whether it exists: check its name, or add the rule ${rule} to the role: ${message}`;
      logger.info(line, { event: 'kubernetes-waiting' });
    } else if (before === 'missing') {
      logger.info(() => `${namespace} exists now`, { event: 'kubernetes-recovered' });
    }
  }
}
