import type { RouteAction } from '../resources/route-config/route-config';

/** Returns the name of the action of a route, as in the schema. */
export function actionName(action: RouteAction): string {
  switch (action.kind) {
    case 'forward':
      return 'route';
    case 'non-forwarding':
      return 'non_forwarding_action';
    case 'unsupported':
      return action.action;
  }
}
