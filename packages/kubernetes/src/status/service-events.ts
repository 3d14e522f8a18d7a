import { createHash } from 'node:crypto';
import type { Clock } from '../../../../src/util/clock';
import type { Handle } from '../../../../src/util/handle';
import type { Logger } from '../../../../src/util/logger';
import type { Random } from '../../../../src/util/random';
import { cutText } from '../../../../src/util/text';
import type { ApiRequest, KubernetesApi } from '../api/kubernetes-api';
import { keyOf } from '../object-key';
import type { ObjectKey } from '../cluster-objects';
import type { ServiceObject } from '../objects';
import { WriteQueue, type WriteOutcome } from './write-queue';

/** What is wrong with a Service: a short word in CamelCase, and a sentence for its owner. */
export interface ServiceProblem {
  readonly reason: string;
  readonly message: string;
}

export interface ServiceEventsOptions {
  readonly api: Pick<KubernetesApi, 'call'>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'now' | 'setTimer'>;
  readonly random: Random;
  readonly logger: Logger;
}

const COMPONENT = 'grpc-xds';
/** The API server keeps events for an hour by default: those of a problem that is still there are written again after it. */
const REPEAT_MS = 3_900_000;
/** Events of one Service; further problems have none. */
const MAX_EVENTS_PER_SERVICE = 20;
/** Characters; the API allows 1,024 bytes. */
const MAX_MESSAGE_LENGTH = 1000;
const CONFLICT = 409;

interface KnownProblem {
  readonly service: ServiceObject;
  readonly problem: ServiceProblem;
}

/**
 * Writes events on Services for what is wrong with them. The name of an event is that of its Service and a digest of what it says:
 * replicas write it only once, since the second one finds it there.
 */
export class ServiceEvents {
  /** By key: the namespace, `/`, and the name of the event. */
  private readonly problems = new Map<string, KnownProblem>();
  private readonly keysByService = new Map<ObjectKey, ReadonlySet<string>>();
  private readonly queue: WriteQueue;
  private timer: Handle | undefined;

  constructor(private readonly options: ServiceEventsOptions) {
    const { clock, random, logger } = options;
    this.queue = new WriteQueue({
      clock,
      random,
      logger,
      subject: 'writing events on Services',
      rule: 'the verb "create" for "events"',
      write: (key, onEnd) => this.write(key, onEnd),
    });
  }

  /** Sets what is wrong with a Service now; nothing any more if the list is empty. Events that are written already are not repeated. */
  report(service: ServiceObject, problems: readonly ServiceProblem[]): void {
    const serviceKey = keyOf(service.meta);
    const before = this.keysByService.get(serviceKey);
    const keys = new Set<string>();
    for (const problem of problems.slice(0, MAX_EVENTS_PER_SERVICE)) {
      const key = `${service.meta.namespace}/${eventName(service, problem)}`;
      keys.add(key);
      this.problems.set(key, { service, problem });
      if (before?.has(key) !== true) this.queue.put(key);
    }
    for (const key of before ?? []) if (!keys.has(key)) this.forget(key);
    if (keys.size === 0) this.keysByService.delete(serviceKey);
    else this.keysByService.set(serviceKey, keys);
    if (keys.size > 0) this.timer ??= this.repeatLater();
  }

  /** Forgets a Service that is gone. */
  remove(service: ObjectKey): void {
    for (const key of this.keysByService.get(service) ?? []) this.forget(key);
    this.keysByService.delete(service);
  }

  /** Cancels what is not written yet. Idempotent. */
  close(): void {
    this.queue.close();
    this.timer?.release();
    this.timer = undefined;
  }

  private forget(key: string): void {
    this.problems.delete(key);
    this.queue.remove(key);
  }

  private repeatLater(): Handle {
    return this.options.clock.setTimer(() => {
      for (const key of this.problems.keys()) this.queue.put(key);
      this.timer = this.problems.size > 0 ? this.repeatLater() : undefined;
    }, REPEAT_MS);
  }

  private write(key: string, onEnd: (outcome: WriteOutcome) => void): Handle {
    const known = this.problems.get(key);
    const { api, clock } = this.options;
    if (known === undefined) throw new Error(`a problem that is not known: ${key}`);
    return api.call(createRequest(known, clock.now()), (answer) => {
      if (answer.ok) return onEnd('written');
      onEnd(answer.error.status === CONFLICT ? 'unneeded' : answer.error);
    });
  }
}

function eventName({ meta }: ServiceObject, { reason, message }: ServiceProblem): string {
  const digest = createHash('sha256').update(JSON.stringify([meta.uid, reason, message]));
  return `${meta.name}.${digest.digest('hex').slice(0, 16)}`;
}

function createRequest({ service, problem }: KnownProblem, nowMs: number): ApiRequest {
  const { meta } = service;
  const name = eventName(service, problem);
  const time = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const body = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: meta.namespace },
    involvedObject: {
      apiVersion: 'v1',
      kind: 'Service',
      namespace: meta.namespace,
      name: meta.name,
      uid: meta.uid,
      resourceVersion: meta.resourceVersion,
    },
    type: 'Warning',
    reason: problem.reason,
    message: cutText(problem.message, MAX_MESSAGE_LENGTH),
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
  const path = `/api/v1/namespaces/${encodeURIComponent(meta.namespace)}/events`;
  return { method: 'POST', path, body };
}
