import type { DnsWatcherFactory } from '../../src/dependency-manager/dns-watch';
import type { DnsWatch } from '../../src/dependency-manager/host-dns-watch';
import { dnsTargetKey, type DnsTarget } from '../../src/dependency-manager/observations';
import type { EndpointsResource } from '../../src/resources/endpoints/endpoints';
import { err, ok, type Result } from '../../src/util/result';

type OnResult = (result: Result<EndpointsResource, string>) => void;

/** DNS whose answers are the test's. Names are `host:port`. */
export class FakeDns implements DnsWatcherFactory {
  /** Every request to resolve again, oldest first. */
  readonly reresolutions: string[] = [];
  private readonly watches = new Map<string, Set<OnResult>>();

  start(target: DnsTarget, onResult: OnResult): DnsWatch {
    const key = dnsTargetKey(target);
    const watches = this.watches.get(key) ?? new Set();
    this.watches.set(key, watches);
    // A function of its own, so that two watches with the same callback are two.
    const listener: OnResult = (result) => onResult(result);
    watches.add(listener);
    return {
      release: () => {
        watches.delete(listener);
      },
      requestReresolution: () => {
        this.reresolutions.push(key);
      },
    };
  }

  /** Answers everyone who waits for the name. */
  resolve(key: string, endpoints: EndpointsResource): void {
    this.tell(key, ok(endpoints));
  }

  /** Fails everyone who waits for the name. */
  fail(key: string, message: string): void {
    this.tell(key, err(message));
  }

  /** The names being resolved, sorted. */
  get watched(): readonly string[] {
    return [...this.watches]
      .filter(([, listeners]) => listeners.size > 0)
      .map(([key]) => key)
      .sort();
  }

  private tell(key: string, result: Result<EndpointsResource, string>): void {
    for (const listener of [...(this.watches.get(key) ?? [])]) listener(result);
  }
}
