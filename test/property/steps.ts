import type { Random } from '../../src/util/random';
import type { ServerHabits } from './model-server';
import { NAMES, TYPES, type Content } from './truth';

/** A resource by the places of its type and name in the lists. */
export interface Target {
  readonly type: number;
  readonly name: number;
}

/** One thing that happens, to a client or to its server. A step that makes no sense when it comes does nothing. */
export type Step =
  | ({ readonly kind: 'watch' | 'release' } & Target)
  /** Watches are ended and begun in one go. */
  | {
      readonly kind: 'exchange';
      readonly released: readonly Target[];
      readonly watched: readonly Target[];
    }
  | ({ readonly kind: 'set'; readonly content: Content['kind'] } & Target)
  | ({ readonly kind: 'touch' } & Target)
  | { readonly kind: 'serve'; readonly atMost: number }
  | { readonly kind: 'disconnect' }
  | { readonly kind: 'garbage' | 'stranger' | 'heartbeat' | 'repeat' }
  | { readonly kind: 'reachable'; readonly isReachable: boolean }
  | { readonly kind: 'wait'; readonly ms: number };

/** Makes up steps. */
export class StepSource {
  constructor(private readonly random: Random) {}

  /** A server as it may be. */
  habits(): ServerHabits {
    return {
      ignoresStaleNonces: this.random() < 0.5,
      chunkSize: this.pick([1, 2, 100]),
      failOnDataErrors: this.random() < 0.5,
      isFull: this.random() < 0.7,
    };
  }

  /** So many steps. */
  steps(count: number): readonly Step[] {
    return Array.from({ length: count }, () => this.step());
  }

  private step(): Step {
    const makers: readonly (readonly [share: number, make: () => Step])[] = [
      [16, () => ({ kind: 'watch', ...this.target() })],
      [10, () => ({ kind: 'release', ...this.target() })],
      [8, () => ({ kind: 'exchange', released: this.targets(), watched: this.targets() })],
      [10, () => ({ kind: 'set', content: 'valid', ...this.target() })],
      [6, () => ({ kind: 'set', content: 'invalid', ...this.target() })],
      [6, () => ({ kind: 'set', content: 'absent', ...this.target() })],
      [3, () => ({ kind: 'set', content: 'error', ...this.target() })],
      [3, () => ({ kind: 'touch', ...this.target() })],
      [24, () => ({ kind: 'serve', atMost: this.pick([1, 2, 100]) })],
      [4, () => ({ kind: 'disconnect' })],
      [1, () => ({ kind: 'garbage' })],
      [1, () => ({ kind: 'stranger' })],
      [2, () => ({ kind: 'heartbeat' })],
      [2, () => ({ kind: 'repeat' })],
      [2, () => ({ kind: 'reachable', isReachable: false })],
      [3, () => ({ kind: 'reachable', isReachable: true })],
      [9, () => ({ kind: 'wait', ms: Math.floor(this.random() ** 3 * 20_000) })],
    ];
    let left = this.random() * makers.reduce((sum, [share]) => sum + share, 0);
    for (const [share, make] of makers) {
      left -= share;
      if (left < 0) return make();
    }
    return { kind: 'serve', atMost: 100 };
  }

  private targets(): readonly Target[] {
    return [this.target(), this.target()];
  }

  private target(): Target {
    return {
      type: Math.floor(this.random() * TYPES.length),
      name: Math.floor(this.random() * NAMES.length),
    };
  }

  private pick<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.random() * list.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
