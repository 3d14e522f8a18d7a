import * as http from 'node:http';
import * as https from 'node:https';
import type { Clock } from '../../../../src/util/clock';
import { afterRunning } from '../../../../src/util/running-time';
import { valueAt } from '../../../../src/util/value-at';
import { GRAPH_STATES } from '../graph/mesh-graph';
import { cellText, type About, type Row } from '../live-page/view';

/** The time for an answer, and the time for which all readers get the same. */
const TIMEOUT_MS = 2000;
const KEPT_MS = 4000;
const MAX_ANSWER_LENGTH = 2048;
/** The pages that are asked. */
const MAX_PAGES = 32;
const TOKEN = /^[\w.~-]{16,256}$/;

/**
 * The states of the processes that a page links to, as their own pages say: each is asked with the token of its link, as `grpc-xds dump
 * --page` does, and only while a reader asks.
 */
export class LinkedPages {
  private latest: { readonly atMs: number; readonly rows: Promise<readonly Row[]> } | undefined;

  constructor(
    private readonly links: NonNullable<About['links']>,
    private readonly clock: Clock,
  ) {}

  /** Returns a row for each page that answers: its name, and the state of its process. */
  rows(): Promise<readonly Row[]> {
    const atMs = this.clock.monotonicMs();
    if (this.latest === undefined || atMs - this.latest.atMs >= KEPT_MS) {
      this.latest = { atMs, rows: this.ask() };
    }
    return this.latest.rows;
  }

  private async ask(): Promise<readonly Row[]> {
    const asked = Object.entries(this.links).slice(0, MAX_PAGES);
    const rows = await Promise.all(
      asked.map(async ([id, link]) => toRows(id, await this.read(new URL(link)))),
    );
    return rows.flat();
  }

  /** Reads the summary of a page; empty if it does not answer. */
  private read({ origin, protocol, hash }: URL): Promise<string> {
    const token = new URLSearchParams(hash.slice(1)).get('token') ?? '';
    if (!TOKEN.test(token)) return Promise.resolve('');
    const { get } = protocol === 'https:' ? https : http;
    return new Promise((resolve) => {
      const headers = { Authorization: `Bearer ${token}` };
      const request = get(`${origin}/api/summary`, { headers, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
          if (text.length <= MAX_ANSWER_LENGTH) return;
          resolve('');
          request.destroy();
        });
        response.on('end', () => resolve(response.statusCode === 200 ? text : ''));
      });
      const limit = afterRunning(this.clock, () => request.destroy(), TIMEOUT_MS);
      request.on('socket', (socket) => socket.unref());
      request.on('error', () => resolve(''));
      request.on('close', () => {
        limit.release();
        resolve('');
      });
    });
  }
}

/** What else answers there is no page: it has no state. */
function toRows(id: string, text: string): readonly Row[] {
  const json = parse(text);
  const state = GRAPH_STATES.find((each) => each === valueAt(json, 'state'));
  const flaw = valueAt(json, 'flaw');
  if (state === undefined) return [];
  return [{ id, state, ...(typeof flaw === 'string' && { flaw: cellText(flaw) }) }];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
