import type { View, ViewRequest } from './view';

/** What a page is about. */
export interface About {
  /** Which views the page has: those of a client, or those of a control plane. */
  readonly kind: 'client' | 'control-plane';
  /** Such as `grpc-xds 1.2.3, process 4711`. */
  readonly title: string;
}

/** The state at one moment. Views are computed when they are first asked for. */
export interface PageState {
  view(request: ViewRequest): View;
}

/** A request for something that is not in a view, such as the contents of a resource. */
export type Question = ReadonlyMap<string, string>;

/** What a page shows. */
export interface PageSource {
  readonly about: About;
  capture(): PageState;
  /** Returns plain JSON; `undefined` if there is no such thing. */
  answer(name: string, question: Question): object | undefined;
  /** Ends what the source itself observes. */
  release(): void;
}
