import { TestResourceType } from '../xds-client/test-resource';

/** The names there may be resources of. */
export const NAMES: readonly string[] = ['a', 'b', 'c', 'd', 'constructor'];

/** The types in play: one whose responses are complete, and one whose responses may be partial. */
export const TYPES: readonly TestResourceType[] = [
  new TestResourceType('Listener', true),
  new TestResourceType('Endpoints', false),
];

/** What a management server may have under a name. */
export type Content =
  | { readonly kind: 'valid' | 'invalid'; readonly text: string }
  /** It cannot be supplied, and the server says why (gRFC A88). */
  | { readonly kind: 'error'; readonly text: string }
  | { readonly kind: 'absent' };

const ABSENT: Content = { kind: 'absent' };

/** A content with the number of the change that it came with. */
export interface Versioned {
  readonly content: Content;
  readonly version: number;
}

const NEVER: Versioned = { content: ABSENT, version: 0 };

/** What all management servers have, and have had: the oracle. */
export class Truth {
  private readonly resources = new Map<string, Versioned>();
  private readonly pastValues = new Map<string, Set<string>>();
  private changes = 0;
  private readonly changesByType = new Map<string, number>();

  /** What there is under a name now. */
  get(type: TestResourceType, name: string): Versioned {
    return this.resources.get(keyOf(type, name)) ?? NEVER;
  }

  /** The number of the last change to anything of a type. */
  versionOf(type: TestResourceType): number {
    return this.changesByType.get(type.typeUrl) ?? 0;
  }

  /** Whether a text has ever been the valid value of a name. */
  everHad(type: TestResourceType, name: string, text: string): boolean {
    return this.pastValues.get(keyOf(type, name))?.has(text) === true;
  }

  /** Changes what there is under a name. Every value is another one. */
  set(type: TestResourceType, name: string, kind: Content['kind']): void {
    const version = ++this.changes;
    this.put(type, name, { content: contentOf(kind, version), version });
  }

  /** Makes a new version of what there is without changing it. */
  touch(type: TestResourceType, name: string): void {
    const { content } = this.get(type, name);
    this.put(type, name, { content, version: ++this.changes });
  }

  private put(type: TestResourceType, name: string, versioned: Versioned): void {
    const key = keyOf(type, name);
    const { content, version } = versioned;
    this.resources.set(key, versioned);
    this.changesByType.set(type.typeUrl, version);
    if (content.kind !== 'valid') return;
    const values = this.pastValues.get(key) ?? new Set<string>();
    this.pastValues.set(key, values.add(content.text));
  }
}

function contentOf(kind: Content['kind'], version: number): Content {
  switch (kind) {
    case 'valid':
      return { kind, text: `value ${version}` };
    case 'invalid':
      return { kind, text: `!mistake ${version}` };
    case 'error':
      return { kind, text: `trouble ${version}` };
    case 'absent':
      return ABSENT;
  }
}

function keyOf({ typeUrl }: TestResourceType, name: string): string {
  return `${typeUrl} ${name}`;
}
