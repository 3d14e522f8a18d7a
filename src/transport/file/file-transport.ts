import { fileURLToPath } from 'node:url';
import type { ServerConfig } from '../../bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../../bootstrap/limits';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/error-message';
import type { FileWatchOptions } from '../../util/files/file-watch';
import type { Logger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import type { XdsStream, XdsStreamHandler, XdsTransport } from '../../xds-client/transport';
import { isServedWithoutGrpc } from '../served-methods';
import { FileStream } from './file-stream';
import { WatchedFiles } from './watched-files';

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
