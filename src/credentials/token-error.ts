/** Why there is no token. The host library makes the status of the call of it. */
export class TokenError extends Error {
  override readonly name = 'TokenError';

  /** @param code A gRPC status code. */
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}
