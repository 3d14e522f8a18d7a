/** Ascending positions. Nearly all lists have one, which then takes the place of the list. */
export type Positions = number | number[];

/** A node, whose text is that of the labels from the root to it. */
interface Node {
  /** The text of the edge from the parent. */
  label: string;
  /** Values of exactly this node's text, in order of insertion. */
  values: Positions | undefined;
  /** Children by the first character of their label; `undefined` while there are none, as for most nodes. */
  children: Map<number, Node> | undefined;
}

/**
 * A radix tree, which finds every stored prefix of a text in one walk along the text. Values are numbers, several per
 * prefix.
 */
export class PrefixTree {
  private readonly root: Node = createNode('');

  /** Adds a value to a prefix, which may be empty. */
  add(prefix: string, value: number): void {
    let node = this.root;
    let rest = prefix;
    while (rest !== '') {
      const child = node.children?.get(rest.charCodeAt(0));
      if (child === undefined) {
        const leaf = createNode(rest);
        addChild(node, leaf);
        node = leaf;
        rest = '';
        continue;
      }
      const shared = commonLength(child.label, rest);
      node = shared < child.label.length ? split(node, child, shared) : child;
      rest = rest.slice(shared);
    }
    const { values } = node;
    if (typeof values === 'object') values.push(value);
    else node.values = values === undefined ? value : [values, value];
  }

  /** Calls `visit` with the values of each stored prefix of the text, the shortest prefix first. */
  visit(text: string, visit: (values: Positions) => void): void {
    let node: Node | undefined = this.root;
    let position = 0;
    for (;;) {
      if (node.values !== undefined) visit(node.values);
      if (position >= text.length) return;
      node = node.children?.get(text.charCodeAt(position));
      if (node === undefined) return;
      // The first character has been compared.
      const { label } = node;
      if (label.length > 1 && !text.startsWith(label, position)) return;
      position += label.length;
    }
  }
}

function createNode(label: string): Node {
  return { label, values: undefined, children: undefined };
}

/** Adds a child, in place of the one that begins with the same character. */
function addChild(node: Node, child: Node): void {
  (node.children ??= new Map<number, Node>()).set(child.label.charCodeAt(0), child);
}

function commonLength(a: string, b: string): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}

/** Splits the edge to `child` after `length` characters of its label. */
function split(parent: Node, child: Node, length: number): Node {
  const middle = createNode(child.label.slice(0, length));
  child.label = child.label.slice(length);
  addChild(middle, child);
  addChild(parent, middle);
  return middle;
}
