// The fragment of the address of the page: what it shows. Only the address of the tab has the token, no link that is copied.

/** The state of a page that a link has; each is a text, and empty by default. */
const NAMES = ['target', 'view', 'filter', 'opened', 'closed', 'at', 'event'];

/** Reads what the fragment of an address asks for, and its token. */
export function readFragment(hash) {
  const fragment = new URLSearchParams(hash.slice(1));
  const state = Object.fromEntries(NAMES.map((name) => [name, fragment.get(name) ?? '']));
  return { token: fragment.get('token') ?? '', ...state };
}

/** Writes a fragment; what is empty is left out. */
export function writeFragment(state) {
  const entries = ['token', ...NAMES].map((name) => [name, state[name] ?? '']);
  return `#${new URLSearchParams(entries.filter(([, value]) => value !== ''))}`;
}

/** Copies a text. @returns whether it could: a browser allows it for some addresses only. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
