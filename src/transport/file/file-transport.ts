import { fileURLToPath } from 'node:url';
import type { ServerConfig } from '../../bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../../bootstrap/limits';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import type { FileWatchOptions } from '../../util/file-watch';
import type { Logger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import type { XdsTransport } from '../../xds-client/transport';
import { ServedStream, ServedTransport, type ServedStreamOptions } from '../served-stream';
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

class FileTransport extends ServedTransport<FileStream> {
  private readonly files: WatchedFiles;

  constructor(
    private readonly path: string,
    ignoreUnknownFields: boolean,
    private readonly options: FileTransportOptions,
  ) {
    super(options.clock);
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
      onFailure: (details) => {
        for (const stream of this.streams) stream.fail({ code: StatusCode.UNAVAILABLE, details });
      },
    });
  }

  override close(): void {
    super.close();
    this.files.close();
  }

  protected override createStream(options: ServedStreamOptions): FileStream {
    return new FileStream(options, this.path, this.options.logger);
  }

  protected override onOpened(stream: FileStream): void {
    const { content } = this.files;
    if (content !== undefined) stream.update(content);
    else this.files.load();
  }

  protected override describeUnserved(method: string): string {
    return `a file does not serve ${method}`;
  }
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

/** A stream over files: responds to a request with new names, and sends the requested resources of a type when they change. */
class FileStream extends ServedStream {
  private readonly types = new Map<string, TypeState>();
  private content: ResourceContent | undefined;
  private responses = 0;

  /** @param path Names the file in messages. */
  constructor(
    options: ServedStreamOptions,
    private readonly path: string,
    private readonly logger: Logger,
  ) {
    super(options);
  }

  /** Handles new content, or the first. */
  update(content: ResourceContent): void {
    this.content = content;
    for (const [typeUrl, progress] of this.types) {
      if (this.contentOf(typeUrl).fingerprint !== progress.sent) progress.isDue = true;
    }
    this.deliverLater();
  }

  override send(bytes: Uint8Array): void {
    if (!this.isOpen) return;
    this.receive(DiscoveryRequest.decode(bytes));
    this.later(() => this.handler.onSent());
    this.deliverLater();
  }

  /** Sends a response, if one is due and may be sent, and later the next one. */
  protected override deliver(): void {
    if (this.credits === 0 || this.content === undefined) return;
    const due = [...this.types].filter(([, { isDue, names }]) => isDue && names.length > 0);
    const [next] = due.sort(([a], [b]) => rank(a) - rank(b));
    if (next === undefined) return;
    this.credits--;
    const [typeUrl, progress] = next;
    this.handler.onMessage(this.respond(typeUrl, progress));
    this.deliverLater();
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
          message: `not in ${this.path}`,
          details: [],
        },
      })),
    };
  }

  private contentOf(typeUrl: string): TypeContent {
    return this.content?.get(typeUrl) ?? NOTHING;
  }

  private trace(text: () => string): void {
    this.logger.trace(TRACER, () => `${this.path}: ${text()}`);
  }
}

function rank(typeUrl: string): number {
  const index = order.indexOf(typeUrl.slice(typeUrl.lastIndexOf('.') + 1));
  return index < 0 ? order.length : index;
}
