import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from '../../../src/util/random';

/** An object of the API, by its key. */
export interface ServedObject {
  readonly key: string;
  readonly json: object;
}

interface Change extends ServedObject {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
}

/** What an API server, or what is in between, does wrong. */
const FAULTS = [
  'cut',
  'cut in a line',
  'garbage',
  'duplicates',
  'out of order',
  'slow',
  'too large',
  'error event',
] as const;
const REFUSALS = [401, 410, 429, 500, 503, 504] as const;

/** Lists and watches of one kind over HTTP, with faults at random until it is calmed. */
export class HostileKubernetesApi {
  private readonly server = createServer((request, response) => this.onRequest(request, response));
  private readonly objects = new Map<string, object>();
  private changes: Change[] = [];
  private version = 100;
  /** Versions up to this one have been compacted. */
  private compacted = 100;
  private readonly watchers = new Set<() => void>();
  private isCalm = false;
  /** How often each fault has happened. */
  readonly faults = new Map<string, number>();

  constructor(private readonly random: Random) {}

  async start(): Promise<number> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const address = this.server.address() as AddressInfo;
    return address.port;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  /** Does nothing wrong from now on. */
  calm(): void {
    this.isCalm = true;
  }

  /** The keys of the objects, with their versions. */
  get content(): ReadonlyMap<string, object> {
    return this.objects;
  }

  /** Adds or changes an object, or deletes it if there is none. */
  write(key: string, json: ((version: number) => object) | undefined): void {
    const before = this.objects.get(key);
    if (json === undefined && before === undefined) return;
    const version = ++this.version;
    const object = json?.(version) ?? withVersion(before, version);
    const type = json === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
    if (json === undefined) this.objects.delete(key);
    else this.objects.set(key, object);
    this.changes.push({ key, json: object, version, type });
    for (const wake of this.watchers) wake();
  }

  /** Forgets the changes so far, as etcd does. */
  compact(): void {
    this.changes = [];
    this.compacted = this.version;
  }

  private happens(share: number): boolean {
    return !this.isCalm && this.random() < share;
  }

  private pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  private count(fault: string): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
  }

  private onRequest(request: IncomingMessage, response: ServerResponse): void {
    const query = new URL(request.url ?? '', 'http://x').searchParams;
    const isReset = this.happens(0.15);
    const isRefused = this.happens(0.15);
    if (isReset) {
      this.count('reset');
      request.socket.destroy();
    } else if (isRefused) {
      const status = this.pick(REFUSALS) ?? 500;
      this.count('refused');
      response.writeHead(status).end('{"kind":"Status"}');
    } else if (query.get('watch') === 'true') {
      this.serveWatch(Number(query.get('resourceVersion')), response);
    } else {
      this.serveList(query.get('continue') ?? '', response);
    }
  }

  /** Pages of three objects. */
  private serveList(place: string, response: ServerResponse): void {
    const [version = this.version, start = 0] = place === '' ? [] : place.split('/').map(Number);
    if (version !== this.version) {
      this.count('place too old');
      response.writeHead(410).end('{"reason":"Expired"}');
      return;
    }
    const all = [...this.objects.values()];
    const isLast = this.isCalm || start + 3 >= all.length;
    const text = JSON.stringify({
      metadata: {
        resourceVersion: String(version),
        ...(!isLast && { continue: `${version}/${start + 3}` }),
      },
      items: isLast ? all.slice(start) : all.slice(start, start + 3),
    });
    if (!this.happens(0.1)) response.end(text);
    else response.write(text.slice(0, text.length / 2), () => response.destroy());
  }

  private serveWatch(from: number, response: ServerResponse): void {
    if (from < this.compacted) {
      this.count('version too old');
      response.writeHead(200);
      response.end('{"type":"ERROR","object":{"code":410,"reason":"Expired"}}\n');
      return;
    }
    response.writeHead(200).flushHeaders();
    let sent = from;
    const wake = () => {
      const next = this.changes.filter(({ version }) => version > sent);
      sent = this.version;
      if (next.length > 0) this.send(response, next);
    };
    this.watchers.add(wake);
    response.on('close', () => this.watchers.delete(wake));
    response.write(lineOf('BOOKMARK', { metadata: { resourceVersion: String(from) } }));
    wake();
  }

  private send(response: ServerResponse, changes: readonly Change[]): void {
    const lines = changes.map(({ type, json }) => lineOf(type, json));
    const fault = this.happens(0.5) ? this.pick(FAULTS) : undefined;
    if (fault !== undefined) this.count(fault);
    const text = lines.join('');
    switch (fault) {
      case 'cut':
        return void response.write(text, () => response.destroy());
      case 'cut in a line':
        return void response.write(text.slice(0, -10), () => response.destroy());
      case 'garbage':
        return void response.write(`{]\n${text}`);
      case 'duplicates':
        return void response.write(`${text}${text}${lines[0] ?? ''}`);
      case 'out of order':
        return void response.write([...lines].reverse().join(''));
      case 'slow':
        for (const character of text) response.write(character);
        return;
      case 'too large':
        return void response.write(`{"x":"${'x'.repeat(4 * 2 ** 20)}"}\n${text}`);
      case 'error event':
        return void response.write(`${text}${lineOf('ERROR', { code: 500, message: 'etcd' })}`);
      default:
        response.write(text);
    }
  }
}

function lineOf(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function withVersion(json: object | undefined, version: number): object {
  const metadata = json !== undefined && 'metadata' in json ? json.metadata : {};
  return { ...json, metadata: { ...Object(metadata), resourceVersion: String(version) } };
}
