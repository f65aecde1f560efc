import type { Route } from '../route.ts';
import { fileRoutes } from './files.ts';
import { lifecycleRoutes } from './lifecycle.ts';
import { registryRoutes } from './registry.ts';
import { runRoutes } from './runs.ts';
import { sessionRoutes } from './sessions.ts';
import { stateRoutes } from './state.ts';
import { vaultRoutes } from './vault.ts';
import { webhookRoutes } from './webhooks.ts';
import { workspaceRoutes } from './workspace.ts';

/** All routes of the API. */
export const routes: readonly Route[] = [
  ...sessionRoutes,
  ...runRoutes,
  ...stateRoutes,
  ...lifecycleRoutes,
  ...fileRoutes,
  ...workspaceRoutes,
  ...registryRoutes,
  ...vaultRoutes,
  ...webhookRoutes,
];
