import { CallCredentials, type SecureConnector } from '../../grpc-js';

/** Makes no connection: every attempt fails with a reason, before anything is sent. */
export class RefusingConnector implements SecureConnector {
  constructor(
    private readonly reason: string,
    private readonly callCredentials = CallCredentials.createEmpty(),
  ) {}

  /** @throws Error always. */
  waitForReady(): Promise<void> {
    return Promise.reject(new Error(this.reason));
  }

  /** @throws Error always. */
  connect(): Promise<never> {
    return Promise.reject(new Error(this.reason));
  }

  getCallCredentials(): CallCredentials {
    return this.callCredentials;
  }

  destroy(): void {}
}
