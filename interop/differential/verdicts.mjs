// What implementations say of resources, and where they disagree.

/** How long a client may take to say what it thinks of a resource. Only one that says nothing takes so long. */
const PATIENCE_MS = 20_000;

/** Listens to what clients say, and resolves with the verdict of one of them on one resource. */
export class Verdicts {
  #waiting = new Map();

  /** The next verdict of a client on a response with this resource: `ack`, `nack` with the client's words, or `none`. */
  next(node, typeUrl, name) {
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => this.#settle(node, { verdict: 'none', message: '' }),
        PATIENCE_MS,
      );
      this.#waiting.set(node, { resolve, timer, typeUrl, name, sent: new Set() });
    });
  }

  onEvent(event) {
    const node = event.client.nodeId;
    const waiting = this.#waiting.get(node);
    if (waiting === undefined || event.typeUrl !== waiting.typeUrl) return;
    const key = `${event.client.streamId} ${event.version}`;
    if (event.kind === 'sent' && event.names.includes(waiting.name)) waiting.sent.add(key);
    if (!waiting.sent.has(key)) return;
    if (event.kind === 'acked') this.#settle(node, { verdict: 'ack', message: '' });
    if (event.kind === 'nacked') this.#settle(node, { verdict: 'nack', message: event.message });
  }

  #settle(node, outcome) {
    const { resolve, timer } = this.#waiting.get(node);
    clearTimeout(timer);
    this.#waiting.delete(node);
    resolve(outcome);
  }
}

export const describe = (outcomes) =>
  Object.entries(outcomes)
    .map(
      ([language, { verdict, message }]) =>
        `${language} ${verdict}${message === '' ? '' : ` (${message.replaceAll(/\s+/g, ' ').slice(0, 240)})`}`,
    )
    .join('\n      ');

const keyOf = (outcomes) => Object.values(outcomes).map(({ verdict }) => verdict);

/** Compares what the clients said with each other, and the differences with the list of those that are known. */
export const check = (title, outcomes, disagreements) => {
  const found = keyOf(outcomes);
  const agreed = new Set(found).size === 1 && found[0] !== 'none';
  const known = disagreements[title];
  if (known === undefined && !agreed)
    throw new Error(`they disagree:\n      ${describe(outcomes)}`);
  if (known !== undefined && agreed)
    console.log(`    ${title}: they agree now; take it off the list`);
  else if (known !== undefined) {
    const [expected] = known;
    const said = Object.entries(outcomes)
      .map(([language, { verdict }]) => `${language} ${verdict}`)
      .join(', ');
    if (said !== expected)
      throw new Error(`expected ${expected}, got:\n      ${describe(outcomes)}`);
  }
  return agreed;
};

export const printTable = (rows, disagreements) => {
  const agreed = rows.filter((row) => row.agreed);
  const refused = agreed.filter(({ outcomes }) => outcomes.node.verdict === 'nack');
  console.log(
    `    ${rows.length} resources: all agree on ${agreed.length} ` +
      `(${agreed.length - refused.length} accepted, ${refused.length} refused), ` +
      `and disagree on ${rows.length - agreed.length}:`,
  );
  for (const { title, outcomes, agreed: isAgreed } of rows) {
    if (isAgreed) continue;
    const [, reason] = disagreements[title] ?? ['', 'not known'];
    const said = Object.entries(outcomes).map(
      ([language, { verdict }]) => `${language} ${verdict}`,
    );
    console.log(`      ${title}: ${said.join(', ')}: ${reason}`);
  }
};
