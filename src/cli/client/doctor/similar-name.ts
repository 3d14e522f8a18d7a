/** Returns the known name that differs from a name in at most two letters, if there is one. */
export function findSimilar(name: string, known: readonly string[]): string | undefined {
  const most = name.length < 5 ? 1 : 2;
  let found: string | undefined;
  let least = most + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > most) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance >= least) continue;
    found = candidate;
    least = distance;
  }
  return found;
}

/** The number of letters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const [above = 0, before = 0, diagonal = 0] = [row[j], next[j - 1], row[j - 1]];
      const replaced = diagonal + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(above + 1, before + 1, replaced));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
