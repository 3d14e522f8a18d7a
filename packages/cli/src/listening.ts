import { failureText } from './failure-text';

/**
 * Waits until a server listens.
 *
 * @param remedy Which flag has its address, such as `--port chooses another port`.
 * @throws if it cannot; an error of the system, such as EADDRINUSE, with the remedy: others say themselves what to do.
 */
export async function listening<T>(started: Promise<T>, remedy: string): Promise<T> {
  try {
    return await started;
  } catch (error) {
    const message = failureText(error);
    // A server of gRPC has the error of the system in its text alone.
    if (!/\bE[A-Z]{4,}\b/.test(message)) throw error;
    throw new Error(`${message}; ${remedy}`, { cause: error });
  }
}
