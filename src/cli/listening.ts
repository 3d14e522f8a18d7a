import { errorMessage } from '../util/errors';

/**
 * Waits until a server listens.
 *
 * @param remedy Which flag has its address, such as `--port chooses another port`.
 * @throws the error of the system with the remedy, if the address cannot be used.
 */
export async function listening<T>(started: Promise<T>, remedy: string): Promise<T> {
  try {
    return await started;
  } catch (error) {
    throw new Error(`${errorMessage(error)}; ${remedy}`, { cause: error });
  }
}
