import { getHeapSpaceStatistics } from 'node:v8';

/** The heap at one moment, in bytes. */
interface HeapSize {
  /** All but the machine code. */
  readonly values: number;
  /** Machine code. The engine writes it anew for as long as it finds reasons to. */
  readonly code: number;
}

const QUARTERS = 4;

/** How much memory a run has kept, from its quarters. The lowest of each counts: what is higher was in use just then. */
export class HeapRecord {
  private readonly sizes: HeapSize[] = [];

  /** Looks at the heap, without its garbage if the process may collect it. */
  take(): void {
    global.gc?.();
    const spaces = getHeapSpaceStatistics();
    const code = spaces.filter(({ space_name: name }) => name.startsWith('code_'));
    this.sizes.push({ values: sum(spaces) - sum(code), code: sum(code) });
  }

  /** The lowest sizes of each quarter. */
  get quarters(): readonly HeapSize[] {
    return Array.from({ length: QUARTERS }, (_, index) => {
      const from = Math.floor((this.sizes.length * index) / QUARTERS);
      const to = Math.floor((this.sizes.length * (index + 1)) / QUARTERS);
      const part = this.sizes.slice(from, to);
      return {
        values: Math.min(...part.map(({ values }) => values)),
        code: Math.min(...part.map(({ code }) => code)),
      };
    });
  }

  /**
   * Bytes by which the last quarter has more than the one before. In the first half, the engine is still learning
   * what the program is like, and what it learns is kept among the values.
   */
  get growth(): number {
    const [, , third, last] = this.quarters;
    return (last?.values ?? 0) - (third?.values ?? 0);
  }
}

function sum(spaces: readonly { readonly space_used_size: number }[]): number {
  return spaces.reduce((total, { space_used_size: size }) => total + size, 0);
}
