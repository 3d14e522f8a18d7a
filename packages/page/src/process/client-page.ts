import { servePage, type AdminPage } from '../live-page/page-server';
import type { AdminPageOptions } from '../live-page/page-access';
import { inspect } from 'grpc-xds';
import type { ObservedProcess, InspectedProcess } from 'grpc-xds/internal';
import type { About, PageSource, Question, ViewRequest } from '../live-page/view';
import { buildWholeGraph } from '../graph/build-mesh-graph';
import { Metadata } from '@grpc/grpc-js';
import type { Handle } from '../../../../src/util/handle';
import { PastStates } from './past-states';
import type { Clock } from '../../../../src/util/clock';
import { errorMessage } from '../../../../src/util/errors';
import { PACKAGE_VERSION } from '../../../../src/util/version';
import { ProcessEvents } from './events';
import { findWay, type CallWay } from './call-way';
import { drawnNodes, graphOptions } from './graph-rows';
import { KeptViews } from './kept-views';
import { SLOT_MS } from './last-change';
import { LinkedPages } from './linked-pages';
import { explainResource } from './resource-rows';
import { ClientState, clientsById } from './client-state';

type InspectedClient = InspectedProcess['clients'][number];

/** Serves a page with the state of the clients of this process: implements `serveAdminPage`. */
export function serveClientPage(
  options: AdminPageOptions,
  observed: ObservedProcess,
  clock: Clock,
): Promise<AdminPage> {
  return servePage(options, () => new ClientPage(options.links ?? {}, observed, clock), clock);
}

const CLOCK_STEP_MS = 1000;

class ClientPage implements PageSource {
  readonly about: About;
  private readonly events: ProcessEvents;
  private readonly counting: Handle;
  private readonly past = new PastStates();
  private readonly kept = new KeptViews();
  private readonly linked: LinkedPages;
  /** What the monotonic clock is behind that of the day. */
  private epochMs: number;

  constructor(
    links: NonNullable<About['links']>,
    private readonly observed: ObservedProcess,
    private readonly clock: Clock,
  ) {
    const title = `grpc-xds ${PACKAGE_VERSION}, process ${process.pid}`;
    this.about = { kind: 'client', title, links };
    this.linked = new LinkedPages(links, clock);
    this.events = new ProcessEvents(clock);
    this.counting = observed.count(clock);
    this.epochMs = clock.now() - clock.monotonicMs();
  }

  capture(): ClientState {
    const nowMs = this.clock.monotonicMs();
    const { observed, events, past, kept } = this;
    const nowEpochMs = this.clock.now() - nowMs;
    // Somebody has set the clock. Two readings always differ a little, and following that would change all times each second.
    if (Math.abs(nowEpochMs - this.epochMs) > CLOCK_STEP_MS) this.epochMs = nowEpochMs;
    const { epochMs } = this;
    const ratesOf = (target: string) => observed.ratesOf(target, nowMs, epochMs);
    const inspected = observed.inspected();
    kept.inbound.look(inspected?.servers() ?? [], nowMs, epochMs);
    const trendEndMs = epochMs + SLOT_MS * Math.floor(nowMs / SLOT_MS);
    return new ClientState(inspected, events, past, ratesOf, kept, trendEndMs);
  }

  answer(name: string, question: Question): object | undefined | Promise<object | undefined> {
    const asked = question.get('target');
    // For `grpc-xds dump --page`.
    if (name === 'report')
      return inspect({ contents: true, ...(asked !== undefined && { target: asked }) });
    if (name === 'summary') return this.capture().summary();
    if (name === 'links') return this.linked.rows();
    const inspected = this.observed.inspected();
    const target = asked ?? '';
    const client = clientsById(inspected).get(target);
    if (name === 'event') return this.capture().explainEvent(target, question.get('id') ?? '');
    if (name === 'explain') return this.explain(target, client, question);
    if (name !== 'resource' || inspected === undefined || client === undefined) return undefined;
    return explainResource(inspected, client.snapshot(), question.get('id') ?? '');
  }

  release(): void {
    this.events.release();
    this.counting.release();
    this.past.clear();
  }

  private explain(
    id: string,
    client: InspectedClient | undefined,
    question: Question,
  ): { readonly text: string; readonly way?: CallWay } {
    try {
      const headers = parseHeaders(question.get('headers') ?? '');
      const method = question.get('method') ?? '';
      const explained = this.observed.explainCall(client ?? { scope: id }, method, headers);
      const text = String(explained);
      const input = this.capture().graphInput({ target: id });
      if (explained.kind !== 'routed' || input === undefined) return { text };
      const request = parseGroups(question);
      const graph = buildWholeGraph(input, graphOptions(request));
      return { text, way: findWay(graph, explained, drawnNodes(graph, request)) };
    } catch (error) {
      return { text: errorMessage(error) };
    }
  }
}

/** The graph whose nodes the way of a call has: the same as is shown. */
function parseGroups(question: Question): Pick<ViewRequest, 'filter' | 'opened'> {
  return {
    filter: (question.get('filter') ?? '').toLowerCase(),
    opened: new Set(question.get('opened')?.split(',')),
  };
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
