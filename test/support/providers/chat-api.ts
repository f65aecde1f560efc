import {
  type Body,
  dataUrlProblem,
  firstProblem,
  halves,
  isObjectText,
  type ProviderApi,
  type ScriptedAnswer,
  usage,
  words,
} from './provider-api.ts';

const frames = ({ thinking, text, calls = [] }: ScriptedAnswer, body: Body): string[] => {
  const chunk = (choices: readonly object[], more: object = {}) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: body.model, choices, ...more })}\n\n`;
  const delta = (content: object) => chunk([{ index: 0, delta: content, finish_reason: null }]);
  return [
    delta({ role: 'assistant', content: '' }),
    ...words(thinking ?? '').map((each) => delta({ reasoning_content: each })),
    ...words(text ?? '').map((content) => delta({ content })),
    ...calls.flatMap(({ id, tool, input }, index) => {
      const [first, second] = halves(input);
      return [
        delta({ tool_calls: [{ index, id, type: 'function', function: { name: tool, arguments: first } }] }),
        delta({ tool_calls: [{ index, function: { arguments: second } }] }),
      ];
    }),
    chunk([{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }]),
    ...(body.stream_options?.include_usage
      ? [
          chunk([], {
            usage: {
              prompt_tokens: usage.input,
              completion_tokens: usage.output,
              prompt_tokens_details: { cached_tokens: usage.cached },
              completion_tokens_details: { reasoning_tokens: usage.reasoning },
            },
          }),
        ]
      : []),
    'data: [DONE]\n\n',
  ];
};

function* problems(body: Body): Generator<string | false | undefined> {
  const tools: string[] = (body.tools ?? []).map((tool: Body) => tool.function.name);
  let open: string[] = [];
  let before: string | undefined;
  for (const { role, content, tool_calls: calls = [], tool_call_id: id } of body.messages as Body[]) {
    if (role === 'tool') {
      yield !open.includes(id) &&
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'";
      open = open.filter((each) => each !== id);
    } else {
      yield open.length > 0 &&
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'";
      // The chat templates of many open models require alternating roles.
      yield role === before && `conversation roles must alternate, found ${role} twice`;
    }
    yield role === 'system' && before !== undefined && before !== 'system' && 'system message must come first';
    for (const { type, text, image_url, file } of Array.isArray(content) ? content : []) {
      yield type === 'text' ? !text && 'empty text' : dataUrlProblem(image_url?.url ?? file?.file_data);
    }
    yield role !== 'assistant' && !content?.length && `messages: ${role} without content`;
    yield role === 'assistant' && !content && calls.length === 0 && 'messages: assistant without content';
    yield calls.some((call: Body) => !tools.includes(call.function.name)) && 'tool_calls: not among the tools';
    yield calls.some((call: Body) => !isObjectText(call.function.arguments)) && 'tool_calls: arguments are no object';
    open = [...open, ...calls.map((call: Body) => call.id)];
    before = role;
  }
  yield open.length > 0 && 'tool_calls at the end of the conversation lack their results';
}

/** The Chat Completions API of OpenAI and compatible providers. */
export const chatApi: ProviderApi = {
  path: '/v1/chat/completions',
  keyHeader: (key) => ['authorization', `Bearer ${key}`],
  problemOf: (body) => firstProblem(problems(body)),
  frames,
  errorFrame: () =>
    `data: ${JSON.stringify({ error: { message: 'The server is overloaded', type: 'server_error', code: null } })}\n\n`,
  errorBody: ({ message, code = null }) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
  overflow: {
    status: 400,
    code: 'context_length_exceeded',
    message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
  },
};
