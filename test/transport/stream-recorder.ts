import type { StreamStatus, XdsStreamHandler } from '../../src/xds-client/transport';
import { eventually } from '../support/eventually';

/** Remembers what a stream reported, and when. */
export class StreamRecorder implements XdsStreamHandler {
  readonly messages: string[] = [];
  sent = 0;
  status: StreamStatus | undefined;
  /** Everything in order. */
  readonly events: string[] = [];

  onSent(): void {
    this.sent++;
    this.events.push('sent');
  }

  onMessage(bytes: Uint8Array): void {
    const text = Buffer.from(bytes).toString();
    this.messages.push(text);
    this.events.push(text.length > 100 ? `${text.length} bytes` : text);
  }

  onClosed(status: StreamStatus): void {
    this.status = status;
    this.events.push('closed');
  }

  async untilSent(count = 1): Promise<void> {
    await eventually(
      () => this.sent,
      (sent) => sent >= count,
    );
  }

  async untilMessage(count = 1): Promise<void> {
    await eventually(
      () => this.messages.length,
      (length) => length >= count,
    );
  }

  async untilClosed(): Promise<StreamStatus> {
    const status = await eventually(
      () => this.status,
      (value) => value !== undefined,
    );
    return status ?? { code: -1, details: '' };
  }
}
