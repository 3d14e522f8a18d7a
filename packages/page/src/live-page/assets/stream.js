// Reads the state from the process: a stream of server-sent events, through fetch, because EventSource sends no token.

/** Without a message for this long, the connection is taken for dead. Heartbeats are 15 s apart. */
const SILENCE_MS = 40_000;
const MAX_RETRY_MS = 15_000;

export const NOT_CONNECTED = 'Not connected, trying again';

/** Texts of responses that have none. */
const TEXTS = new Map([[431, 'the request is too long: use a shorter filter']]);

/** Requests JSON. @throws Error with the text of the response, and with its `status` if there is one. */
export async function get(path, query, token, signal) {
  const response = await request(`${path}?${new URLSearchParams(query)}`, token, signal);
  if (response.ok) return response;
  const { status } = response;
  const text = (await response.text()).trim() || (TEXTS.get(status) ?? `HTTP status ${status}`);
  throw Object.assign(new Error(text), { status });
}

async function request(url, token, signal) {
  try {
    return await fetch(url, { headers: { Authorization: `Bearer ${token}` }, signal });
  } catch (error) {
    throw new Error('the process cannot be reached', { cause: error });
  }
}

/** Statuses of a wrong token, which a person can type, and of a process that was too busy. */
const NOT_REFUSED = new Set([401, 408, 429]);

/** Whether the same request would be refused again. */
export function isRefusal({ status }) {
  return status >= 400 && status < 500 && !NOT_REFUSED.has(status);
}

/**
 * Reads the views of a query until it is closed, and connects again when the connection ends, unless the request is refused.
 *
 * @param listener `onMessage(data)`; `onState(text)`; `onLogin()` if the token is wrong; and `onRefusal(text)`.
 * @returns a function that closes it.
 */
export function openStream(query, token, listener) {
  const closing = new AbortController();
  let attempts = 0;
  const onMessage = (data) => {
    attempts = 0;
    listener.onMessage(data);
  };
  const run = async () => {
    while (!closing.signal.aborted) {
      const error = await readOnce(query, token, closing.signal, onMessage).catch(
        (failed) => failed,
      );
      if (closing.signal.aborted) return;
      if (error?.status === 401) {
        listener.onLogin();
        return;
      }
      if (error !== undefined && isRefusal(error)) {
        listener.onState('Refused');
        listener.onRefusal(error.message);
        return;
      }
      listener.onState(NOT_CONNECTED);
      await pause(Math.min(500 * 2 ** attempts++, MAX_RETRY_MS), closing.signal);
    }
  };
  void run();
  return () => closing.abort();
}

async function readOnce(query, token, closing, onMessage) {
  const ending = new AbortController();
  const end = () => ending.abort();
  let silence = setTimeout(end, SILENCE_MS);
  try {
    const signal = AbortSignal.any([closing, ending.signal]);
    const response = await get('/api/stream', query, token, signal);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let revision = 0;
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(end, SILENCE_MS);
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const data = parseBlock(block);
        if (data === undefined) continue;
        // A message is missing: the next stream begins with a snapshot.
        if (data.revision !== ++revision) return;
        onMessage(data);
      }
    }
  } finally {
    clearTimeout(silence);
    end();
  }
}

function parseBlock(block) {
  const line = block.split('\n').find((text) => text.startsWith('data: '));
  return line && JSON.parse(line.slice('data: '.length));
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
