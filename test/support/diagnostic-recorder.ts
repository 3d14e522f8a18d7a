import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { DiagnosticEvents } from '../../src/xds-client/diagnostics';

/** Writes down what is published on diagnostics channels, until the test ends. */
export class DiagnosticRecorder {
  readonly events: [keyof DiagnosticEvents, unknown][] = [];

  constructor(...names: readonly (keyof DiagnosticEvents)[]) {
    for (const name of names) {
      const listener = (message: unknown) => void this.events.push([name, message]);
      subscribe(name, listener);
      subscriptions.push(() => void unsubscribe(name, listener));
    }
  }

  /** What was published since the last call. */
  take(): [keyof DiagnosticEvents, unknown][] {
    return this.events.splice(0);
  }
}

const subscriptions: (() => void)[] = [];

afterEach(() => {
  for (const end of subscriptions.splice(0)) end();
});
