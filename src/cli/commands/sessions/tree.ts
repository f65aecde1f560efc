import { TreeView } from '../../../schema/views/session.ts';
import { defineCommand } from '../../parse/command.ts';
import { drawTree } from '../../render/draw-tree.ts';

export const tree = defineCommand({
  name: 'tree',
  summary: 'draw the family of a session: its root and all forks',
  args: ['SESSION'],
  options: {},
  notes: [
    '● marks the session you named; ⑂ seq:17 means that a fork goes on from event 17 of the session above it. If the terminal is too narrow for a deep tree, …7 means that a fork is 7 levels below the root.',
  ],
  examples: ['perdure tree ses_…'],
  needsNoAgents: true,
  json: TreeView,
  run: async (context, { args }) => {
    const session = await context.session(args[0]!);
    const root = await session.tree();
    await context.answer(root, () => drawTree(root, session.id, context.out));
  },
});
