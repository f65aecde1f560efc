import { StateView } from '../../../schema/views/session.ts';
import { defineCommand, flag } from '../../parse/command.ts';
import { printableLine } from '../../terminal/printable.ts';

export const pin = defineCommand({
  name: 'pin',
  summary: 'keep a fact word for word in every context',
  args: ['SESSION', 'FACT'],
  options: { unpin: flag('unpin it') },
  notes: ['With --json, it lists all pins of the session.'],
  examples: ['perdure pin ses_… port', 'perdure pin ses_… port --unpin'],
  json: StateView.shape.pins,
  run: async (context, { args: [named, fact], options: { unpin } }) => {
    const session = await context.session(named!);
    await (unpin ? session.unpin(fact!) : session.pin(fact!));
    const { pins } = await session.state();
    await context.answer(pins, () => `${printableLine(fact!)} is ${unpin ? 'not ' : ''}pinned`);
  },
});
