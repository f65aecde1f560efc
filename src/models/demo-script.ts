import { defineScript } from './script.ts';

export const demoScript = defineScript({
  name: 'demo',
  everyTurn: true,
  steps: [
    {
      name: 'greet',
      when: { answers: 0, userMatches: '\\b(hi|hello|hey)\\b' },
      reasoning: 'Someone greets me. I say what I am.',
      text: 'Hello! I am the demo script of Perdure: I need no key and no network, and every word of this is in the log.',
    },
    {
      name: 'explain',
      when: { answers: 0 },
      reasoning: 'I am a script and cannot think about this. I say so, and what can be tried.',
      text: 'I am a script, not a model, so I cannot work on this. But the session is real: stop the process in the middle of this sentence, start it again, and it goes on. Fork it, rewind it, look at its log. For an answer that was thought about, name a model: set ANTHROPIC_API_KEY or OPENAI_API_KEY and give the agent `anthropic/NAME` or `openai/NAME`.',
    },
  ],
});
