import { listFirst } from '../../../../src/util/text';
/** One of several clients, which should be alike. */
export interface ComparedClient {
  /** Such as `shop (stream 3)`. */
  readonly name: string;
  /** Texts such as `acknowledged`, by what they are about, such as `Cluster`. One that a client does not have is not compared for it. */
  readonly facts: ReadonlyMap<string, string>;
}

/** A fact in which clients differ. */
export interface Difference {
  readonly fact: string;
  /** The text of more than half of the clients; `undefined` if no value has that many. */
  readonly usual: string | undefined;
  /** How many clients have the usual value. */
  readonly usualCount: number;
  /** The clients with another value than the usual one; all of them if there is none. */
  readonly others: readonly { readonly client: number; readonly text: string }[];
}

/** How clients differ. */
export interface Comparison {
  /** The number of facts that at least two clients have. */
  readonly compared: number;
  /** In the order of the facts of the first clients. */
  readonly differences: readonly Difference[];
}

interface Value {
  readonly client: number;
  readonly text: string;
}

/** Compares clients fact by fact: the value of more than half of those with a fact is the usual one, any other differs. */
export function compareClients(clients: readonly ComparedClient[]): Comparison {
  const facts = new Map<string, Value[]>();
  clients.forEach((each, client) => {
    for (const [name, text] of each.facts) {
      const values = facts.get(name);
      if (values === undefined) facts.set(name, [{ client, text }]);
      else values.push({ client, text });
    }
  });
  let compared = 0;
  const differences: Difference[] = [];
  for (const [fact, values] of facts) {
    if (values.length < 2) continue;
    compared++;
    const difference = compareValues(fact, values);
    if (difference !== undefined) differences.push(difference);
  }
  return { compared, differences };
}

function compareValues(fact: string, values: readonly Value[]): Difference | undefined {
  const counts = new Map<string, number>();
  for (const { text } of values) counts.set(text, (counts.get(text) ?? 0) + 1);
  if (counts.size === 1) return undefined;
  const [usual, usualCount = 0] = [...counts].find(([, count]) => 2 * count > values.length) ?? [];
  const others = values.filter(({ text }) => text !== usual);
  return { fact, usual, usualCount, others };
}

/** Differences, and clients, that a verdict names. */
const MAX_NAMED = 3;

/**
 * Describes a comparison in one line, such as `shop (stream 3) differs in 1 of 4: Cluster: rejected: no good, others acknowledged`.
 */
export function describeComparison(
  { compared, differences }: Comparison,
  clients: readonly ComparedClient[],
): string {
  if (compared === 0) return 'nothing to compare';
  if (differences.length === 0) return `${clients.length} clients agree in all of ${compared}`;
  const split = differences.filter(({ usual }) => usual === undefined);
  const odd = oddClients(differences);
  const parts = [...odd].slice(0, MAX_NAMED).map(([client, own]) => {
    const named = listFirst(own, (each) => describeOwn(each, client)).join(', ');
    const name = clients[client]?.name ?? '';
    return `${name} differs in ${own.length} of ${compared}: ${named}`;
  });
  if (odd.size > MAX_NAMED) parts.push(`and ${odd.size - MAX_NAMED} more clients differ`);
  if (split.length > 0) {
    const named = listFirst(split, (each) => describeSplit(each, clients)).join(', ');
    parts.push(`no majority in ${split.length} of ${compared}: ${named}`);
  }
  return parts.join('; ');
}

/** Returns the clients with another value than the usual one, each with these differences: the one with the most first. */
function oddClients(
  differences: readonly Difference[],
): ReadonlyMap<number, readonly Difference[]> {
  const odd = new Map<number, Difference[]>();
  for (const difference of differences) {
    if (difference.usual === undefined) continue;
    for (const { client } of difference.others) {
      const own = odd.get(client);
      if (own === undefined) odd.set(client, [difference]);
      else own.push(difference);
    }
  }
  return new Map([...odd].sort(([, a], [, b]) => b.length - a.length));
}

function describeOwn({ fact, usual, others }: Difference, client: number): string {
  const own = others.find((each) => each.client === client)?.text ?? '';
  return `${fact}: ${own}, others ${usual ?? ''}`;
}

function describeSplit({ fact, others }: Difference, clients: readonly ComparedClient[]): string {
  const values = listFirst(
    others,
    ({ client, text }) => `${text} (${clients[client]?.name ?? ''})`,
  );
  return `${fact}: ${values.join(', ')}`;
}
