import { Status } from '../../grpc-js';
import { readRegularFile } from '../../util/files/read-regular-file';
import { err, ok } from '../../util/result';
import {
  CachedToken,
  MAX_TOKEN_BYTES,
  type TokenDependencies,
  type TokenSource,
} from './cached-token';

/** Options of a token file. */
export interface JwtTokenFileOptions extends TokenDependencies {
  /** Reads a file as text. Default: the file system, only regular files of at most 64 KiB, and at once. */
  readonly read?: (path: string, callback: (error: Error | null, text: string) => void) => void;
}

/** Creates the token in a file that is replaced before the token expires (gRFC A97). */
export function createJwtTokenFile(path: string, options: JwtTokenFileOptions): CachedToken {
  const { read = readText } = options;
  const source: TokenSource = {
    description: `jwt_token_file ${path}`,
    fetch(callback) {
      read(path, (error, text) => {
        if (error === null) callback(ok(text));
        else callback(err({ code: Status.UNAVAILABLE, message: error.message }));
      });
    },
  };
  return new CachedToken(source, options);
}

function readText(path: string, callback: (error: Error | null, text: string) => void): void {
  const read = readRegularFile(path, { maxBytes: MAX_TOKEN_BYTES });
  if (read.ok) callback(null, read.value.toString('utf8'));
  else callback(new Error(read.error), '');
}
