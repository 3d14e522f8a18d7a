/** The exit codes of all commands. */
export const exitCode = {
  /** Nothing was found. */
  fine: 0,
  /** Something was found: an error, a difference, a rejection. */
  findings: 1,
  /** The arguments or a file cannot be used. */
  badInput: 2,
  /** A server cannot be reached, or did not answer in time. */
  unreachable: 3,
} as const;

/** What each exit code of a command means; absent for a code that it does not have. Each command has 2 as well. */
export interface ExitMeanings {
  readonly 0: string;
  readonly 1?: string;
  readonly 2?: string;
  readonly 3?: string;
}

/** The exit codes of each command, which its help shows. */
export const exitMeanings = {
  doctor: {
    0: 'every check passed; warnings and notes do not matter',
    1: 'a check failed, or could not be made: also for a missing bootstrap or an unreachable server',
  },
  check: { 0: 'clients accept the files; warnings do not matter', 1: 'a file has errors' },
  bootstrap: { 0: 'the bootstrap was written' },
  dump: {
    0: 'all resources were accepted; with --diff, there is no difference',
    1: 'a resource is rejected or missing; with --diff, there are differences',
    3: 'the process or control plane cannot be reached',
  },
  explain: {
    0: 'each such call has a route and endpoints; the server allows the request',
    1: 'the call, or a share of such calls, fails; the server refuses the request',
    3: 'the process or control plane cannot be reached',
  },
  graph: {
    0: 'nothing in the graph is known to fail',
    1: 'something in the graph fails, or the target has no configuration',
    3: 'the process or control plane cannot be reached',
  },
  watch: {
    0: 'the target was ready at the end; the calls of the process were shown',
    1: 'the target was not ready at the end; the process has no target with that name, or no calls to show',
    3: 'no control plane was reached, or none has answered; the process cannot be reached',
  },
  record: {
    0: 'interrupted',
    3: 'the control plane could not be reached, so nothing was recorded',
  },
  replay: {
    0: 'each response was sent and answered as in the recording',
    1: 'an answer differs, or a response was never requested',
  },
  serve: { 0: 'interrupted' },
  relay: {
    0: 'interrupted; with --admin, the relay runs',
    1: 'with --admin, the relay has nothing to serve, because no control plane can be reached',
    3: 'with --admin, there is no relay',
  },
  kubernetes: { 0: 'interrupted' },
  migrate: {
    0: 'nothing is left to change',
    1: 'something is left to change, by --write or by hand',
  },
  demo: { 0: 'every call succeeded', 1: 'a call failed' },
} as const satisfies Readonly<Record<string, ExitMeanings>>;

/** Of every command, unless its row says otherwise. */
const BAD_INPUT = 'arguments or a file that cannot be used';

/** Returns the meaning of each exit code of a command; `undefined` for a name that is not one. */
export function meaningsOf(command: string): readonly (readonly [code: string, text: string])[] {
  const rows: Readonly<Record<string, ExitMeanings>> = exitMeanings;
  const own = rows[command];
  return own === undefined ? [] : Object.entries({ 2: BAD_INPUT, ...own });
}
