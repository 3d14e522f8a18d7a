// The programs of interop:cross, which are ECMAScript modules without types.
import { join } from 'node:path';

const INTEROP = join(__dirname, '../../../interop/cross');

/** What became of calls: how many each pod answered, and how many ended with each status. */
export interface CallCounts {
  readonly peers: Readonly<Record<string, number>>;
  readonly codes: Readonly<Record<string, number>>;
  /** Of the last call that failed. */
  readonly message: string;
}

/** What was measured of the calls of a probe. */
export interface Measured {
  readonly calls: number;
  readonly failed: number;
  readonly slowestMs: number;
}

/** A program that is directed by lines of JSON; see `interop/cross/peers.mjs`. */
export interface LineProcess {
  ask(command: object): Promise<unknown>;
}

/** The programs of one run. */
export interface Peers {
  client(name: string, address: string, options?: { readonly node: string }): Promise<LineProcess>;
  goControlPlane(cache: string): Promise<LineProcess & { readonly greeting: { port: number } }>;
  stop(): Promise<void>;
}

/** The languages of clients, by the name of each program. */
export const CLIENT_LANGUAGES: Readonly<Record<string, string | undefined>> = {
  node: undefined,
  'node-delta': undefined,
  go: 'go',
  java: 'java',
  python: 'python',
};

/** Builds the program of a language unless it is up to date. @returns the tools that are missing. */
export async function prepareLanguage(language: string): Promise<readonly string[]> {
  const { prepare } = (await load('tools.mjs')) as {
    readonly prepare: (language: string) => Promise<{ readonly missing?: readonly string[] }>;
  };
  return (await prepare(language)).missing ?? [];
}

export async function createPeers(): Promise<Peers> {
  const module = (await load('peers.mjs')) as { readonly Peers: new () => Peers };
  return new module.Peers();
}

function load(name: string): Promise<unknown> {
  return import(join(INTEROP, name));
}
