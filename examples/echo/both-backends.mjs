// What every example ends with: calls until both backends have answered, which they do in turns.
const CALLS = 20;

/** @param say Makes a call, and returns the name of the backend that answered. */
export async function callBothBackends(say) {
  const answers = new Set();
  for (let call = 0; call < CALLS; call++) answers.add(await say());
  const names = [...answers].sort().join(', ');
  if (names !== 'backend-1, backend-2') throw new Error(`answered: ${names}`);
  return names;
}
