import { type AdminPage, servePage } from '../../live-page/page-server';
import type { AdminPageOptions } from '../../live-page/page-options';
import type { PageSource, PageState, Question } from '../../live-page/page-source';
import { Metadata } from '../../../grpc-js';
import type { CallExplanation } from '../../../resolver/explain-call';
import type { Clock } from '../../../util/clock';
import { errorMessage } from '../../../util/error-message';
import { PACKAGE_VERSION } from '../../../util/version';
import { inspectProcess, type InspectedProcess } from '../inspect';
import { clientsById, ClientState } from './client-state';
import { ProcessEvents } from './process-events';
import { explainResource } from './resource-rows';

/** The process whose state a page shows. */
export interface ObservedProcess {
  /** Returns `undefined` while there has been no channel for an xds: target. */
  readonly inspected: () => InspectedProcess | undefined;
  readonly explainCall: (target: string, method: string, headers: Metadata) => CallExplanation;
}

/** Serves a page with the state of the clients of this process. See `serveAdminPage`. */
export function serveClientPage(
  options: AdminPageOptions,
  observed: ObservedProcess,
  clock: Clock,
): Promise<AdminPage> {
  return servePage(options, () => new ClientPage(observed, clock), clock);
}

class ClientPage implements PageSource {
  readonly about = {
    kind: 'client',
    title: `grpc-xds ${PACKAGE_VERSION}, process ${process.pid}`,
  } as const;
  private readonly events: ProcessEvents;

  constructor(
    private readonly observed: ObservedProcess,
    private readonly clock: Clock,
  ) {
    this.events = new ProcessEvents(clock);
  }

  capture(): PageState {
    return new ClientState(this.observed.inspected(), this.events);
  }

  answer(name: string, question: Question): object | undefined {
    const inspected = this.observed.inspected();
    if (name === 'report') return this.report(inspected, question.get('target'));
    const target = question.get('target') ?? '';
    const client = clientsById(inspected).get(target);
    if (name === 'explain') return this.explain(client?.scope ?? target, question);
    if (name !== 'resource' || inspected === undefined || client === undefined) return undefined;
    return explainResource(inspected, client.snapshot(), question.get('id') ?? '');
  }

  /** The same as `inspect({ contents: true })`, for `grpc-xds dump --page`. */
  private report(inspected: InspectedProcess | undefined, target: string | undefined): object {
    const options = { contents: true, ...(target !== undefined && { target }) };
    return inspectProcess(options, this.clock, inspected);
  }

  release(): void {
    this.events.release();
  }

  private explain(target: string, question: Question): { readonly text: string } {
    try {
      const headers = parseHeaders(question.get('headers') ?? '');
      const method = question.get('method') ?? '';
      return { text: String(this.observed.explainCall(target, method, headers)) };
    } catch (error) {
      return { text: errorMessage(error) };
    }
  }
}

/**
 * Parses lines such as `x-user: 1`.
 *
 * @throws Error with the line that is not a header.
 */
function parseHeaders(text: string): Metadata {
  const metadata = new Metadata();
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const colon = line.indexOf(':', 1);
    if (colon === -1)
      throw new Error(`not a header: ${JSON.stringify(line)}; expected name: value`);
    const [name, value] = [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    metadata.add(name, name.endsWith('-bin') ? Buffer.from(value, 'base64') : value);
  }
  return metadata;
}
