import { z } from 'zod';
import { WorkspaceView } from '../../../schema/views/registry.ts';
import { type Command, defineCommand } from '../../parse/command.ts';

export const workspaceCommands: readonly Command[] = [
  defineCommand({
    name: 'workspaces ls',
    summary: 'list the workspaces of the store',
    args: [],
    options: {},
    examples: ['perdure workspaces ls'],
    backingOptions: ['store', 'config'],
    json: z.strictObject({ workspaces: z.array(WorkspaceView) }),
    run: async (context) => {
      const all = await (await context.workspaces()).list();
      await context.answer({ workspaces: all }, () => all.map(({ id }) => id));
      return undefined;
    },
  }),
  defineCommand({
    name: 'workspaces add',
    summary: 'add a workspace to the store',
    args: ['NAME'],
    options: {},
    notes: [
      'A workspace that exists is left as it is.',
      '`perdure members add MEMBER --workspace NAME` adds members to it.',
    ],
    examples: ['perdure workspaces add acme'],
    makesStore: true,
    backingOptions: ['store', 'config'],
    json: WorkspaceView,
    run: async (context, { args: [name] }) => {
      const workspaces = await context.workspaces();
      const isKnown = (await workspaces.list()).some(({ id }) => id === name);
      const workspace = await workspaces.add(name!);
      await context.answer(
        workspace,
        () => `the workspace ${workspace.id} ${isKnown ? 'already exists' : 'was added'}`,
      );
      return undefined;
    },
  }),
];
