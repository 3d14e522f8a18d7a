import { errorMessage } from '../../../src/util/errors';

/** Returns the text of an error, without the prefix by which an `XdsError` names the package: the user has called a command. */
export function failureText(error: unknown): string {
  return errorMessage(error).replace(/^grpc-xds: /, '');
}
