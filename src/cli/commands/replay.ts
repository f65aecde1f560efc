import { ReplayView } from '../../schema/views/session.ts';
import { defineCommand, flag, text } from '../command.ts';
import { chooseAgent } from '../config/choose-agent.ts';
import { parseCount } from '../point.ts';

export const replay = defineCommand({
  name: 'replay',
  summary: 'play a turn again on a fork, against what was recorded, and tell where it departs',
  args: ['SESSION', 'TURN'],
  options: {
    model: text('MODEL', 'ask this model in place of the recorded answers'),
    agent: text('AGENT', 'another agent, or NAME@VERSION, of the configuration: another prompt, other tools'),
    live: flag('run calls for which nothing was recorded, unless somebody has to be asked'),
  },
  notes: [
    'The session stays as it is, and the fork is archived, for a closer look. Without --live no tool is run: recorded outcomes answer the same calls.',
    '+ was done now only, - was done then only, ~ was done otherwise; the number counts what the recorded run did. Exits with 1 where it departs.',
  ],
  examples: ['perdure replay ses_… 3', 'perdure replay ses_… 3 --model openai/NAME --json  # needs OPENAI_API_KEY'],
  json: ReplayView,
  run: async (context, { args: [named, number], options: { model, agent, live } }) => {
    const turn = parseCount('TURN', number!.replace(/^turn:/, ''), 1)!;
    const chosen = agent === undefined ? undefined : chooseAgent(await context.config(), agent);
    const played = await (await context.session(named!)).replay({ turn, model, agent: chosen, live });
    const { renderReplay } = await import('../runs/render-replay.ts');
    await context.answer(played, () => renderReplay(played, context.out));
    return played.departures.length === 0 ? 'success' : 'failure';
  },
});
