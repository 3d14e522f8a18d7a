import type * as Client from './client';
import { late } from '../util/late';

/** Loads the client, which takes longer to load than everything else, for the commands that need it. */
export const loadClient = late<typeof Client>(() => require('./client/index'));
