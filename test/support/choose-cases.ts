/**
 * Returns the cases of a trial whose names contain a text. Ends the process with the names if there are none.
 *
 * @param option As in messages, such as `--case`.
 */
export function chooseCases<Case>(
  cases: readonly Case[],
  nameOf: (each: Case) => string,
  { option, text }: { readonly option: string; readonly text: string },
): readonly Case[] {
  const chosen = cases.filter((each) => nameOf(each).includes(text));
  if (chosen.length > 0) return chosen;
  const names = cases.map((each) => `  ${nameOf(each)}\n`).join('');
  process.stderr.write(`${option} ${text}: no name contains it; the names are\n${names}`);
  return process.exit(2);
}
