import { ReplayView } from '../../../schema/views/session.ts';
import { chooseAgent } from '../../config/choose-agent.ts';
import { defineCommand, flag, text } from '../../parse/command.ts';
import { parseCount } from '../../parse/point.ts';

export const replay = defineCommand({
  name: 'replay',
  summary: 'play a turn again on a fork, compare it with the recording, and show where they differ',
  args: ['SESSION', 'TURN'],
  options: {
    model: text('MODEL', 'ask this model instead of using the recorded answers'),
    agent: text('AGENT', 'another agent of the configuration, NAME or NAME@VERSION: another prompt, other tools'),
    live: flag('run calls that were not recorded, unless they need a person'),
  },
  notes: [
    'The session stays as it is, and the fork is archived, for a closer look. Without --live, no tool runs: recorded outcomes answer the same calls.',
    '+ marks what was done only now, - only then, ~ differently; the number counts what the recorded run did. Exits with 1 if they differ.',
  ],
  examples: ['perdure replay ses_… 3', 'perdure replay ses_… 3 --model openai/NAME --json  # needs OPENAI_API_KEY'],
  json: ReplayView,
  run: async (context, { args: [named, number], options: { model, agent, live } }) => {
    const turn = parseCount('TURN', number!.replace(/^turn:/, ''), 1)!;
    const chosen = agent === undefined ? undefined : chooseAgent(await context.config(), agent);
    const played = await (await context.session(named!)).replay({ turn, model, agent: chosen, live });
    const { renderReplay } = await import('../../runs/render-replay.ts');
    await context.answer(played, () => renderReplay(played, context.out));
    return played.departures.length === 0 ? 'success' : 'failure';
  },
});
