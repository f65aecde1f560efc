import { defineScript } from '../../index.ts';

const tour = '\\btour\\b';
const remove = '\\b(delete|remove)\\b';
const ask = '\\bask\\b';

/**
 * Script of the built-in agent. Every step that could be mistaken for a model's reasoning says that it is a script.
 */
export const demoTour = defineScript({
  name: 'demo-tour',
  everyTurn: true,
  steps: [
    {
      name: 'greet',
      when: { answers: 0, userMatches: '\\b(hi|hello|hey)\\b' },
      reasoning: 'Someone greets me. I say what I am.',
      text: 'Hello! I am the demo script of Perdure, not a model: I need no key and no network. Say "tour" to see tools at work, "ask" to be asked something, "delete" to be asked for an approval.',
    },
    {
      name: 'begin the tour',
      when: { answers: 0, userMatches: tour },
      reasoning: 'I am a script: my steps are fixed. The tools, the log and the state are real.',
      text: 'I remember a fact, and then I have a shell count slowly into a file. If you stop me here, I go on from the same place.',
      calls: [
        { tool: 'remember', input: { key: 'port', value: 8080 } },
        {
          tool: 'shell',
          input: { command: 'for n in 1 2 3 4 5 6 7 8; do echo $n | tee -a counted.txt; sleep 0.4; done' },
        },
      ],
    },
    {
      name: 'end the tour',
      when: { answers: 1, userMatches: tour },
      text: 'That was all, as the script says. The fact and the file are in the state, both calls are in the log, and each has exactly one result: the shell counted once, no matter who waited for it.',
    },
    {
      name: 'ask for an approval',
      when: { answers: 0, userMatches: remove },
      text: 'I need an approval for that first. (I am a script: there is probably no file of that name.)',
      calls: [{ tool: 'shell', input: { command: 'rm -f perdure-demo.tmp' } }],
    },
    {
      name: 'denied',
      when: { answers: 1, userMatches: remove, last: { outcome: 'denied' } },
      text: 'It was denied, so I leave it.',
    },
    {
      name: 'approved',
      when: { answers: 1, userMatches: remove },
      text: 'It was approved, the command ran, and the script went on.',
    },
    {
      name: 'ask a question',
      when: { answers: 0, userMatches: ask },
      calls: [{ tool: 'ask', input: { question: 'Which colour should the bicycle shed have?' } }],
    },
    {
      name: 'answered',
      when: { answers: 1, userMatches: ask },
      text: 'Thank you. A model would think about your answer now; a script only says that it is in the log.',
    },
    {
      name: 'explain',
      when: { answers: 0 },
      reasoning: 'I am a script and cannot think about this. I say so, and what can be tried.',
      text: 'I am a script, not a model, so I cannot work on this. Say "tour", "ask" or "delete" to see what a run does. For real answers, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or write a perdure.config.ts with an agent of your own.',
    },
  ],
});
