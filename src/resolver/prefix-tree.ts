/** A node stands for the text spelled by the edges above it. */
interface Node {
  /** What leads here from the parent. */
  label: string;
  /** Values of exactly the text this node stands for, in order of insertion. */
  values: number[] | undefined;
  /** Children by the first character of their label. */
  readonly children: Map<number, Node>;
}

/**
 * Finds every stored prefix of a text in one walk along the text, however many prefixes are stored: a radix
 * tree. Values are numbers, several per prefix.
 */
export class PrefixTree {
  private readonly root: Node = createNode('');

  /** Adds a value to a prefix, which may be empty. */
  add(prefix: string, value: number): void {
    let node = this.root;
    let rest = prefix;
    while (rest !== '') {
      const child = node.children.get(rest.charCodeAt(0));
      if (child === undefined) {
        const leaf = createNode(rest);
        node.children.set(rest.charCodeAt(0), leaf);
        node = leaf;
        rest = '';
        continue;
      }
      const shared = commonLength(child.label, rest);
      node = shared < child.label.length ? split(node, child, shared) : child;
      rest = rest.slice(shared);
    }
    (node.values ??= []).push(value);
  }

  /** Calls `visit` with the values of each stored prefix of the text, the shortest prefix first. */
  visit(text: string, visit: (values: readonly number[]) => void): void {
    let node: Node | undefined = this.root;
    let position = 0;
    for (;;) {
      if (node.values !== undefined) visit(node.values);
      if (position >= text.length) return;
      node = node.children.get(text.charCodeAt(position));
      if (node === undefined) return;
      // The first character is what led here.
      const { label } = node;
      if (label.length > 1 && !text.startsWith(label, position)) return;
      position += label.length;
    }
  }
}

function createNode(label: string): Node {
  return { label, values: undefined, children: new Map() };
}

function commonLength(a: string, b: string): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}

/** Puts a node in the middle of the edge to `child`, after `length` characters of its label. */
function split(parent: Node, child: Node, length: number): Node {
  const middle = createNode(child.label.slice(0, length));
  child.label = child.label.slice(length);
  middle.children.set(child.label.charCodeAt(0), child);
  parent.children.set(middle.label.charCodeAt(0), middle);
  return middle;
}
