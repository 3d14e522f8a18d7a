import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { err, ok, type Result } from '../../src/util/result';
import type {
  StreamStatus,
  XdsStream,
  XdsStreamHandler,
  XdsTransport,
  XdsTransportFactory,
} from '../../src/xds-client/transport';
import type { FakeClock } from './fake-clock';

/** What a scripted server may put into a response; the rest is empty. */
export type ResponseContent = Partial<DiscoveryResponse>;

/** The same for an incremental stream. */
export type DeltaResponseContent = Partial<DeltaDiscoveryResponse>;

/** Management servers that do nothing but what a test tells them. Everything they set off waits for `clock.flush`. */
export class FakeNetwork implements XdsTransportFactory {
  private readonly servers = new Map<string, FakeServer>();

  constructor(private readonly clock: FakeClock) {}

  /** The server of a URI, whether or not anybody has connected to it. */
  server(uri: string): FakeServer {
    let server = this.servers.get(uri);
    if (server === undefined) {
      server = new FakeServer(this.clock);
      this.servers.set(uri, server);
    }
    return server;
  }

  /** Connections that have not been closed. */
  get openConnections(): number {
    let open = 0;
    for (const server of this.servers.values()) open += server.openConnections;
    return open;
  }

  create({ serverUri }: ServerConfig): Result<XdsTransport, string> {
    return this.server(serverUri).connect();
  }
}

/** One scripted management server. */
export class FakeServer {
  /** All streams ever opened, oldest first. */
  readonly streams: FakeStream[] = [];
  /** Connections that have not been closed. */
  openConnections = 0;
  /** While false, messages are taken and never sent, as on a connection that is still being made. */
  isReachable = true;
  /** Why no connection can be made; `undefined` when one can. */
  refusal: string | undefined;

  constructor(private readonly clock: FakeClock) {}

  /** The newest stream. */
  get stream(): FakeStream {
    const stream = this.streams.at(-1);
    if (stream === undefined) throw new Error('nobody has opened a stream');
    return stream;
  }

  connect(): Result<XdsTransport, string> {
    if (this.refusal !== undefined) return err(this.refusal);
    this.openConnections++;
    const mine: FakeStream[] = [];
    return ok({
      openStream: (method, handler) => {
        const stream = new FakeStream(this, this.clock, method, handler);
        this.streams.push(stream);
        mine.push(stream);
        return stream;
      },
      close: () => {
        this.openConnections--;
        for (const stream of mine) stream.close();
      },
    });
  }
}

/** The server's end of one ADS stream, and the client's. */
export class FakeStream implements XdsStream {
  /** Every request received on a state-of-the-world stream, decoded. Empty on streams that are not of xDS. */
  readonly requests: DiscoveryRequest[] = [];
  /** Every request received on an incremental stream, decoded. */
  readonly deltaRequests: DeltaDiscoveryRequest[] = [];
  /** Every message as it came. */
  readonly messages: Uint8Array[] = [];
  isOpen = true;
  /** The client has said that nothing follows. */
  isHalfClosed = false;
  /** How many responses the client is ready to read. */
  credits = 0;

  /** Number of messages that the client has not read. */
  get unread(): number {
    return this.outbox.length;
  }
  private hasOutstanding = false;
  private nextNonce = 1;
  private readonly outbox: Uint8Array[] = [];

  constructor(
    private readonly server: FakeServer,
    private readonly clock: FakeClock,
    readonly method: string,
    private readonly handler: XdsStreamHandler,
  ) {}

  /** Whether the method is one of the incremental ones. */
  get isDelta(): boolean {
    return this.method.includes('/Delta');
  }

  send(bytes: Uint8Array): void {
    if (!this.isOpen) throw new Error('message sent on a closed stream');
    if (this.hasOutstanding) throw new Error('message sent while another one is outstanding');
    if (this.isHalfClosed) throw new Error('message sent after the last one');
    this.hasOutstanding = true;
    this.messages.push(bytes);
    if (this.isDelta) this.deltaRequests.push(DeltaDiscoveryRequest.decode(bytes));
    else if (this.isXds) this.requests.push(DiscoveryRequest.decode(bytes));
    if (this.server.isReachable) this.clock.soon(() => this.confirmSent());
  }

  read(): void {
    if (!this.isOpen) throw new Error('read on a closed stream');
    this.credits++;
    this.clock.soon(() => this.deliver());
  }

  halfClose(): void {
    if (!this.isOpen) throw new Error('half-close of a closed stream');
    if (this.hasOutstanding) throw new Error('half-close while a message is outstanding');
    this.isHalfClosed = true;
  }

  close(): void {
    this.isOpen = false;
  }

  private get isXds(): boolean {
    return this.method.includes('DiscoveryService/');
  }

  /** The newest request. */
  get request(): DiscoveryRequest {
    const request = this.requests.at(-1);
    if (request === undefined) throw new Error('no request has been sent');
    return request;
  }

  /** The newest request on an incremental stream. */
  get deltaRequest(): DeltaDiscoveryRequest {
    const request = this.deltaRequests.at(-1);
    if (request === undefined) throw new Error('no request has been sent');
    return request;
  }

  /** Forgets the requests received so far, so that `requests` shows what comes next. */
  clearRequests(): void {
    this.requests.length = 0;
    this.deltaRequests.length = 0;
  }

  /** The message that could not be sent goes out: the connection is there. */
  confirmSent(): void {
    if (!this.isOpen || !this.hasOutstanding) return;
    this.hasOutstanding = false;
    this.handler.onSent();
  }

  /** Sends a response as soon as the client reads it. Nonces are n1, n2, … unless given. */
  respond(content: ResponseContent): void {
    this.respondBytes(
      DiscoveryResponse.encode({
        versionInfo: '',
        resources: [],
        typeUrl: '',
        nonce: `n${this.nextNonce++}`,
        controlPlane: undefined,
        resourceErrors: [],
        ...content,
      }).finish(),
    );
  }

  /** Sends an incremental response as soon as the client reads it. Nonces are n1, n2, … unless given. */
  respondDelta(content: DeltaResponseContent): void {
    this.respondBytes(
      DeltaDiscoveryResponse.encode({
        systemVersionInfo: '',
        resources: [],
        typeUrl: '',
        removedResources: [],
        removedResourceNames: [],
        nonce: `n${this.nextNonce++}`,
        controlPlane: undefined,
        resourceErrors: [],
        ...content,
      }).finish(),
    );
  }

  /** Sends anything as soon as the client reads it. */
  respondBytes(bytes: Uint8Array): void {
    this.outbox.push(bytes);
    this.clock.soon(() => this.deliver());
    this.clock.flush();
  }

  /**
   * The stream ends as the server, or the network, wants it.
   * @param connection What it was on, if that outlives it.
   */
  end(code = 14, details = 'connection refused', connection?: number): void {
    const outlived = connection === undefined ? {} : { connection };
    this.endBy({ code, details, ...outlived });
  }

  endBy(status: StreamStatus): void {
    if (!this.isOpen) throw new Error('the client has closed the stream already');
    this.isOpen = false;
    this.handler.onClosed(status);
    this.clock.flush();
  }

  /** Calls the client back after it has closed the stream, as no transport may. */
  callLate(): void {
    this.handler.onSent();
    this.handler.onMessage(new Uint8Array());
    this.handler.onClosed({ code: 14, details: 'late' });
  }

  private deliver(): void {
    if (!this.isOpen || this.credits === 0) return;
    const message = this.outbox.shift();
    if (message === undefined) return;
    this.credits--;
    this.handler.onMessage(message);
  }
}
