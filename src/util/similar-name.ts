/**
 * Returns the known name that a name was probably meant to be: one that differs in at most two letters, in capitals, or
 * in how its words are joined, as `channelCreds` for `channel_creds`; `undefined` if there is none.
 */
export function findSimilar(name: string, known: readonly string[]): string | undefined {
  const given = lettersOf(name);
  const most = given.length < 5 ? 1 : 2;
  let found: string | undefined;
  let least = most + 1;
  for (const candidate of known) {
    const letters = lettersOf(candidate);
    if (Math.abs(letters.length - given.length) > most) continue;
    const distance = editDistance(given, letters);
    if (distance >= least) continue;
    found = candidate;
    least = distance;
  }
  return found;
}

/** Names are longer by no more: what is compared takes time by the product of two lengths. */
const MAX_LENGTH = 100;

function lettersOf(name: string): string {
  return name.slice(0, MAX_LENGTH).toLowerCase().replace(/[_-]/g, '');
}

/** The number of letters to insert, delete or replace, or of neighbours to swap. */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const [above = 0, left = 0, diagonal = 0] = [row[j], next[j - 1], row[j - 1]];
      const replaced = diagonal + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      next.push(Math.min(above + 1, left + 1, replaced, swapped));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
