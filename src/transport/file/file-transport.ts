import { fileURLToPath } from 'node:url';
import type { ServerConfig } from '../../bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../../bootstrap/limits';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import type { FileWatchOptions } from '../../util/file-watch';
import type { Logger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import {
  isServedWithoutGrpc,
  type XdsStream,
  type XdsStreamHandler,
  type XdsTransport,
} from '../../xds-client/transport';
import { WatchedFiles } from './watched-files';
import {
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { canonicalName, NOTHING, type ResourceContent, type TypeContent } from './file-resource';

/** Options of a file transport. */
export interface FileTransportOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How changes are detected. */
  readonly watch?: FileWatchOptions;
  /** A file is one message. Default: the limits of an application that sets none. */
  readonly limits?: Pick<Limits, 'maxMessageBytes'>;
}

/**
 * Creates the transport of a resource file, or of a directory of such files, that takes the place of a management
 * server: the filesystem subscriptions of the xDS protocol, behind the interface of a connection.
 *
 * @returns the transport, or why the URI is not one of a file.
 */
export function createFileTransport(
  { serverUri, fetch }: ServerConfig,
  options: FileTransportOptions,
): Result<XdsTransport, string> {
  try {
    const path = fileURLToPath(serverUri);
    return ok(new FileTransport(path, fetch?.ignoreUnknownFields ?? false, options));
  } catch (error) {
    return err(errorMessage(error));
  }
}

class FileTransport implements XdsTransport {
  private readonly files: WatchedFiles;
  private readonly streams = new Set<FileStream>();

  constructor(
    private readonly path: string,
    ignoreUnknownFields: boolean,
    private readonly options: FileTransportOptions,
  ) {
    const { clock, logger, watch, limits = DEFAULT_LIMITS } = options;
    this.files = new WatchedFiles(path, {
      ignoreUnknownFields,
      clock,
      logger,
      maxFileBytes: limits.maxMessageBytes,
      watch,
      onChange: (content) => {
        for (const stream of this.streams) stream.update(content);
      },
      onFailure: (reason) => {
        for (const stream of this.streams) stream.fail(StatusCode.UNAVAILABLE, reason);
      },
    });
  }

  openStream(method: string, handler: XdsStreamHandler): XdsStream {
    const { clock, logger } = this.options;
    const onEnd = (ended: FileStream) => this.streams.delete(ended);
    const stream = new FileStream({ path: this.path, handler, clock, logger, onEnd });
    this.streams.add(stream);
    if (!isServedWithoutGrpc(method)) {
      stream.fail(StatusCode.UNIMPLEMENTED, `a file does not serve ${method}`);
      return stream;
    }
    const { content } = this.files;
    if (content !== undefined) stream.update(content);
    else this.files.load();
    return stream;
  }

  close(): void {
    for (const stream of this.streams) stream.close();
    this.files.close();
  }
}

/** Constructor options of a stream. */
export interface FileStreamOptions {
  /** Names the file in messages. */
  readonly path: string;
  readonly handler: XdsStreamHandler;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the stream has ended, from either side. */
  onEnd(stream: FileStream): void;
}

/** The subscription state of one type. */
interface TypeState {
  /** The requested names, as requested. */
  names: readonly string[];
  isDue: boolean;
  /** The fingerprint of the content that was sent last; `undefined` before there was a response. */
  sent: string | undefined;
  nonce: string;
}

const TRACER = 'xds_client';

// Make before break: referenced resources are sent first.
const order = ['Cluster', 'ClusterLoadAssignment', 'Listener', 'RouteConfiguration'];

/**
 * The server's side of a state-of-the-world stream, over files: responds to a request with new names, and sends the
 * requested resources of a type when they change. Its handler is never called from within a call of its methods.
 */
export class FileStream implements XdsStream {
  private readonly types = new Map<string, TypeState>();
  private content: ResourceContent | undefined;
  /** Calls of `read` that have not been answered with a message. */
  private credits = 0;
  private responses = 0;
  private isOpen = true;

  constructor(private readonly options: FileStreamOptions) {}

  /** Handles new content, or the first. */
  update(content: ResourceContent): void {
    this.content = content;
    for (const [typeUrl, progress] of this.types) {
      if (this.contentOf(typeUrl).fingerprint !== progress.sent) progress.isDue = true;
    }
    this.pump();
  }

  /** Ends the stream as a server would. */
  fail(code: number, details: string): void {
    this.later(() => {
      this.end();
      this.options.handler.onClosed({ code, details });
    });
  }

  send(bytes: Uint8Array): void {
    if (!this.isOpen) return;
    this.receive(DiscoveryRequest.decode(bytes));
    this.later(() => this.options.handler.onSent());
    this.pump();
  }

  read(): void {
    this.credits++;
    this.pump();
  }

  /** See `XdsStream`. Responses are not sent after it. */
  halfClose(): void {
    this.fail(0, '');
  }

  close(): void {
    if (this.isOpen) this.end();
  }

  private receive({ typeUrl, resourceNames, responseNonce, errorDetail }: DiscoveryRequest): void {
    const progress = this.types.get(typeUrl) ?? {
      names: [],
      isDue: false,
      sent: undefined,
      nonce: '',
    };
    this.types.set(typeUrl, progress);
    if (responseNonce !== '' && responseNonce === progress.nonce) {
      this.trace(() => {
        const verdict = errorDetail === undefined ? 'accepted' : `rejected: ${errorDetail.message}`;
        return `response ${responseNonce} with ${typeUrl} was ${verdict}`;
      });
    }
    const before = new Set(progress.names);
    if (resourceNames.some((name) => !before.has(name))) progress.isDue = true;
    progress.names = resourceNames;
  }

  /** Sends a response later, if one is due and may be sent. */
  private pump(): void {
    this.later(() => {
      if (this.credits === 0 || this.content === undefined) return;
      const due = [...this.types].filter(([, { isDue, names }]) => isDue && names.length > 0);
      const [next] = due.sort(([a], [b]) => rank(a) - rank(b));
      if (next === undefined) return;
      this.credits--;
      const [typeUrl, progress] = next;
      this.options.handler.onMessage(this.respond(typeUrl, progress));
      this.pump();
    });
  }

  private respond(typeUrl: string, progress: TypeState): Uint8Array {
    const content = this.contentOf(typeUrl);
    progress.isDue = false;
    progress.sent = content.fingerprint;
    progress.nonce = String(++this.responses);
    this.trace(() => `response ${progress.nonce}: version "${content.version}" of ${typeUrl}`);
    return DiscoveryResponse.encode({
      versionInfo: content.version,
      typeUrl,
      nonce: progress.nonce,
      controlPlane: undefined,
      ...this.select(typeUrl, content, progress.names),
    }).finish();
  }

  /** Selects the requested resources, with an error for each that is missing (gRFC A88). */
  private select(
    typeUrl: string,
    { resources }: TypeContent,
    names: readonly string[],
  ): Pick<DiscoveryResponse, 'resources' | 'resourceErrors'> {
    const missing = new Map(names.map((name) => [canonicalName(name, typeUrl), name]));
    const requested = new Set(missing.keys());
    const selected = resources.filter(({ name }) => name === undefined || requested.has(name));
    for (const { name } of selected) {
      if (name === undefined) missing.clear();
      else missing.delete(name);
    }
    return {
      resources: selected.map(({ item }) => item),
      resourceErrors: [...missing.values()].map((name) => ({
        resourceName: { name },
        errorDetail: {
          code: StatusCode.NOT_FOUND,
          message: `not in ${this.options.path}`,
          details: [],
        },
      })),
    };
  }

  private contentOf(typeUrl: string): TypeContent {
    return this.content?.get(typeUrl) ?? NOTHING;
  }

  private later(task: () => void): void {
    this.options.clock.soon(() => {
      if (this.isOpen) task();
    });
  }

  private end(): void {
    this.isOpen = false;
    this.options.onEnd(this);
  }

  private trace(text: () => string): void {
    this.options.logger.trace(TRACER, () => `${this.options.path}: ${text()}`);
  }
}

function rank(typeUrl: string): number {
  const index = order.indexOf(typeUrl.slice(typeUrl.lastIndexOf('.') + 1));
  return index < 0 ? order.length : index;
}
