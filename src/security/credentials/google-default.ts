import {
  CallCredentials,
  credentials,
  Metadata,
  Status,
  type ChannelCredentials,
} from '../../grpc-js';
import { errorMessage } from '../../util/errors';
import { requireOptional } from '../../util/optional-package';
import { err, ok, type Result } from '../../util/result';
import { TokenError } from './cached-token';

const PACKAGE = 'google-auth-library';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** The used part of `GoogleAuth`. */
interface GoogleAuth {
  /** Up to version 9 an object, `Headers` since. */
  getRequestHeaders(url: string): Promise<object>;
}

interface GoogleAuthModule {
  readonly GoogleAuth: new (options: { readonly scopes: string }) => GoogleAuth;
}

/**
 * Creates credentials of the type `google_default` (gRFC A27): TLS, and on each stream a token of Google's application
 * default credentials. Their library is an optional peer dependency.
 *
 * @param createTls Creates the credentials that secure the connection.
 * @param load Loads the library or throws. Default: from the dependencies of this package.
 */
export function createGoogleDefault(
  createTls: () => Result<ChannelCredentials, string>,
  load: () => unknown = () => requireOptional(PACKAGE),
): Result<ChannelCredentials, string> {
  const auth = createAuth(load);
  if (!auth.ok) return auth;
  const tls = createTls();
  if (!tls.ok) return tls;
  const token = createCallCredentials(auth.value);
  return ok(credentials.combineChannelCredentials(tls.value, token));
}

function createAuth(load: () => unknown): Result<GoogleAuth, string> {
  let library: unknown;
  try {
    library = load();
  } catch (error) {
    const cause = errorMessage(error).split('\n', 1).join();
    return err(`the package ${PACKAGE} cannot be loaded, install it: ${cause}`);
  }
  if (!isGoogleAuthModule(library)) return err(`the package ${PACKAGE} has no GoogleAuth`);
  return ok(new library.GoogleAuth({ scopes: SCOPE }));
}

function isGoogleAuthModule(library: unknown): library is GoogleAuthModule {
  return (
    typeof library === 'object' &&
    library !== null &&
    'GoogleAuth' in library &&
    typeof library.GoogleAuth === 'function'
  );
}

// The conversion of grpc-js does not support `Headers`.
function createCallCredentials(auth: GoogleAuth): CallCredentials {
  return CallCredentials.createFromMetadataGenerator(({ service_url: url }, callback) => {
    auth.getRequestHeaders(url).then(
      (headers) => callback(null, toMetadata(headers)),
      (error: unknown) => {
        // The codes of these errors are those of HTTP.
        const message = `google_default: no token: ${errorMessage(error)}`;
        callback(new TokenError(Status.UNAVAILABLE, message));
      },
    );
  });
}

function toMetadata(headers: object): Metadata {
  const metadata = new Metadata();
  const entries = headers instanceof Headers ? headers : Object.entries(headers);
  for (const [name, value] of entries) {
    if (typeof value === 'string') metadata.set(name, value);
  }
  return metadata;
}
