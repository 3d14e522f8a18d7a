import { readObject, readRequiredString } from '../../util/json-fields';
import type { CallCredentialsType } from './call-creds-registry';
import type * as TokenFiles from './jwt-token-file';
import { late } from '../../util/late';

const loadTokenFiles = late<typeof TokenFiles>(() => require('./jwt-token-file'));

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
        : () => loadTokenFiles().createJwtTokenFile(path, options).toCredentials();
    },
  };
}
