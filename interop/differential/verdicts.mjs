// What implementations say of resources, and where they disagree.
import { knownMutation, unusedPatterns } from './mutation-disagreements.mjs';

/** With what the titles of resources begin in which one field is changed. */
export const MUTATED = 'mutated ';

/** How long a client may take to say what it thinks of a resource. Only one that says nothing takes so long. */
const PATIENCE_MS = 60_000;

/** The same for a client that is known to say nothing. */
const SILENCE_MS = 2000;

/** Listens to what clients say, and resolves with the verdict of one of them on one resource. */
export class Verdicts {
  #waiting = new Map();

  /**
   * The next verdict of a client on a response with this resource: `ack`, `nack` with the client's words, or `none`.
   * @param expected What the list of disagreements says of the resource.
   */
  next(node, typeUrl, name, expected = '') {
    const patience = expected.includes(`${node} none`) ? SILENCE_MS : PATIENCE_MS;
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => this.#settle(node, { verdict: 'none', message: '' }),
        patience,
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

/** What a list of disagreements says of a resource: what all say, and why; `undefined` if they agree. */
export const knownOf = (title, disagreements) =>
  title.startsWith(MUTATED) ? knownMutation(title) : disagreements[title];

/** The variants whose titles contain a text: those that were written by hand, and a sample of those in which one field is changed. */
export const chosenFrom = (variants, { resources, sample }) => {
  const wanted = variants.filter(({ title }) => title.includes(resources));
  const isMutated = ({ title }) => title.startsWith(MUTATED);
  return [...wanted.filter((variant) => !isMutated(variant)), ...sample(wanted.filter(isMutated))];
};

/** Compares what the clients said with each other, and the differences with what is known of them. */
export const check = ({ title, outcomes }, disagreements) => {
  const found = keyOf(outcomes);
  const agreed = new Set(found).size === 1 && found[0] !== 'none';
  const known = knownOf(title, disagreements);
  if (agreed) {
    if (disagreements[title] !== undefined) throw new Error('they agree now: take it off the list');
    return true;
  }
  if (known === undefined) throw new Error(`they disagree:\n      ${describe(outcomes)}`);
  const [expected] = known;
  const said = Object.entries(outcomes).map(([language, { verdict }]) => `${language} ${verdict}`);
  if (said.join(', ') === expected) return false;
  throw new Error(`expected ${expected}, got:\n      ${describe(outcomes)}`);
};

/** Demands that every disagreement on the lists is of a resource that was judged. */
export const checkLists = (rows, disagreements, isForServers) => {
  const titles = rows.map(({ title }) => title);
  const disagreed = rows.filter(({ agreed }) => !agreed).map(({ title }) => title);
  const unknown = [
    ...Object.keys(disagreements).filter((title) => !titles.includes(title)),
    ...unusedPatterns(disagreed, isForServers),
  ];
  if (unknown.length > 0) throw new Error(unknown.join(', '));
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
    const [, reason] = knownOf(title, disagreements) ?? ['', 'not known'];
    const said = Object.entries(outcomes).map(
      ([language, { verdict }]) => `${language} ${verdict}`,
    );
    console.log(`      ${title}: ${said.join(', ')}: ${reason}`);
  }
};
