import { CallCredentials, Metadata } from '../grpc-js';
import { readObject, readRequiredString } from '../util/json-fields';
import { type CallCredentialsType, TokenError } from './call-creds-registry';
import type * as TokenFiles from './jwt-token-file';

/** Creates the type `jwt_token_file` (gRFC A97): the token in the file of that name, as a bearer token. */
export function createJwtTokenFileType(
  options: TokenFiles.JwtTokenFileOptions,
): CallCredentialsType {
  return {
    type: 'jwt_token_file',
    parse(config, violations) {
      const fields = readObject(config ?? {}, violations);
      const path = fields && readRequiredString(fields, 'jwt_token_file', violations);
      return path === undefined
        ? undefined
        : () => createCredentials(new (loadTokenFiles().JwtTokenFile)(path, options));
    },
  };
}

function createCredentials(file: TokenFiles.JwtTokenFile): CallCredentials {
  return CallCredentials.createFromMetadataGenerator((_call, callback) => {
    file.get((token) => {
      if (!token.ok) {
        callback(new TokenError(token.error.code, token.error.message));
        return;
      }
      const metadata = new Metadata();
      metadata.set('authorization', `Bearer ${token.value}`);
      callback(null, metadata);
    });
  });
}

function loadTokenFiles(): typeof TokenFiles {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./jwt-token-file');
}
