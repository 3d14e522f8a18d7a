import type { FakeStream } from '../support/fake-transport';
import { DeltaHarness, type Harness } from './harness';
import { wrapper, type TestResourceType } from './test-resource';

/** A management server on the newest stream of a harness, for one type. Requests wait until `serve` reads them. */
abstract class ModelServer {
  /** By name, what there is. */
  readonly resources = new Map<string, string>();
  /** Requests read so far. */
  requests = 0;
  protected nonce = '';
  private nonces = 0;
  private readonly read = new WeakMap<FakeStream, number>();

  constructor(
    protected readonly h: Harness,
    protected readonly type: TestResourceType,
  ) {}

  /** Reads requests and responds until there is no other. */
  serve(): void {
    for (let isBusy = true; isBusy;) {
      const { stream } = this.h;
      const all = stream.isDelta ? stream.deltaRequests.length : stream.requests.length;
      const next = this.read.get(stream) ?? 0;
      isBusy = next < all;
      if (!isBusy) return;
      this.read.set(stream, next + 1);
      this.requests++;
      this.onRequest(stream, next);
    }
  }

  /** Lets time pass, in steps of 1 ms. */
  advance(ms: number): void {
    for (let passed = 0; passed < ms; passed++) {
      this.serve();
      this.h.clock.advance(1);
    }
    this.serve();
  }

  protected abstract onRequest(stream: FakeStream, index: number): void;

  /** Sends resources by name, whether or not they are new to the client. */
  protected respond(names: Iterable<string>, version: string): void {
    this.nonce = `m${++this.nonces}`;
    const found = [...names].flatMap((name) => {
      const value = this.resources.get(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const { h, type, nonce } = this;
    const { typeUrl } = type;
    if (h instanceof DeltaHarness) {
      const resources = found.map(([name, value]) =>
        wrapper(name, type.resource(name, value), { version }),
      );
      h.stream.respondDelta({ typeUrl, nonce, resources });
      return;
    }
    const resources = found.map(([name, value]) => type.resource(name, value));
    h.stream.respond({ typeUrl, nonce, versionInfo: version, resources });
  }
}

/**
 * Ignores requests as istiod does: https://github.com/istio/istio/blob/1.27.0/pkg/xds/server.go (`ShouldRespond`) and
 * https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/delta.go (`shouldRespondDelta`).
 */
export class IstiodModel extends ModelServer {
  private watched: ReadonlySet<string> | undefined;
  private pushes = 0;

  /** Sends everything that is watched, as after any change in the mesh. */
  push(): void {
    this.pushes++;
    this.respond(this.watched ?? [], `${this.pushes}`);
  }

  protected override onRequest(stream: FakeStream, index: number): void {
    const request = stream.isDelta ? stream.deltaRequests[index] : stream.requests[index];
    if (request === undefined || request.errorDetail !== undefined) return;
    const { responseNonce, typeUrl } = request;
    if (typeUrl !== this.type.typeUrl) return;
    if (this.watched !== undefined && responseNonce !== '' && responseNonce !== this.nonce) return;
    const before = this.watched ?? new Set();
    const isFirst = this.watched === undefined || (responseNonce === '' && !stream.isDelta);
    const after = new Set('resourceNames' in request ? request.resourceNames : before);
    if (!('resourceNames' in request)) {
      for (const name of request.resourceNamesSubscribe) after.add(name);
      for (const name of request.resourceNamesUnsubscribe) after.delete(name);
    }
    this.watched = after;
    if (isFirst || [...after].some((name) => !before.has(name))) this.push();
  }
}

/**
 * Responds to every request that names another version than the current one, a rejection included, as the snapshot
 * cache of go-control-plane does: https://github.com/envoyproxy/go-control-plane/blob/v0.14.0/pkg/cache/v3/simple.go
 * (`CreateWatch`). State of the world only.
 */
export class GoControlPlaneModel extends ModelServer {
  version = 1;
  private hasWatch = false;
  private returned: ReadonlySet<string> = new Set();

  protected override onRequest(stream: FakeStream, index: number): void {
    const request = stream.requests[index];
    if (request?.typeUrl !== this.type.typeUrl) return;
    const { responseNonce, resourceNames, versionInfo } = request;
    if (this.hasWatch && this.nonce !== '' && responseNonce !== this.nonce) return;
    this.hasWatch = true;
    const isCurrent = versionInfo === `${this.version}`;
    const hasNew = resourceNames.some(
      (name) => this.resources.has(name) && !this.returned.has(name),
    );
    if (isCurrent && !hasNew) return;
    this.returned = new Set(resourceNames.filter((name) => this.resources.has(name)));
    this.respond(resourceNames, `${this.version}`);
  }
}
