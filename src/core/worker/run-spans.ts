import type { Model, ModelAnswer } from '../ports/model.ts';
import type { OpenSpan, SpanAttributes } from '../ports/spans.ts';
import type { CallEnd } from '../session/runs/call-end.ts';
import type { RunContext } from './run-context.ts';
import type { ReadyCall } from './run-tool.ts';

/** Names follow OpenTelemetry's conventions for generative AI. */
type Run = Pick<RunContext, 'scope' | 'writer' | 'agent' | 'run'>;

const common = ({ scope, writer, agent, run }: Run, operation: string): SpanAttributes => ({
  'gen_ai.operation.name': operation,
  'gen_ai.conversation.id': writer.key.session,
  'gen_ai.agent.name': agent.name,
  'perdure.workspace': scope.workspace,
  'perdure.run.id': run,
});

const ofModel = (name: string): SpanAttributes => {
  const slash = name.indexOf('/');
  return {
    'gen_ai.request.model': name.slice(slash + 1),
    ...(slash > 0 && { 'gen_ai.provider.name': name.slice(0, slash) }),
  };
};

/** Runs a run in a span, which names the agent's first model. */
export const inRunSpan = <T>(
  run: Run & Pick<RunContext, 'models'>,
  work: (span: OpenSpan) => Promise<T>,
): Promise<T> => {
  const attributes = { ...common(run, 'invoke_agent'), ...ofModel(run.models.names[0]!) };
  return run.scope.spans.span({ name: `invoke_agent ${run.agent.name}`, kind: 'internal', attributes }, work);
};

/** Runs a model request in a span. `kindOf` returns the kind of a failure. */
export const inChatSpan = (
  run: Run,
  model: Model,
  ask: () => Promise<ModelAnswer>,
  kindOf: (error: unknown) => string,
): Promise<ModelAnswer> => {
  const asked = ofModel(model.name);
  const attributes = { ...common(run, 'chat'), ...asked };
  const name = `chat ${asked['gen_ai.request.model']}`;
  return run.scope.spans.span({ name, kind: 'client', attributes }, async (span) => {
    try {
      const answer = await ask();
      const { finish, usage } = answer;
      span.set({
        'gen_ai.response.finish_reasons': [finish],
        'gen_ai.usage.input_tokens': usage.inputTokens,
        'gen_ai.usage.output_tokens': usage.outputTokens,
      });
      return answer;
    } catch (error) {
      span.fail(kindOf(error));
      throw error;
    }
  });
};

export const inToolSpan = (
  run: Run,
  { tool, callId }: ReadyCall,
  work: () => Promise<CallEnd | undefined>,
): Promise<CallEnd | undefined> => {
  const attributes = {
    ...common(run, 'execute_tool'),
    'gen_ai.tool.name': tool.name,
    'gen_ai.tool.call.id': callId,
    'gen_ai.tool.type': 'function',
  };
  return run.scope.spans.span({ name: `execute_tool ${tool.name}`, kind: 'internal', attributes }, async (span) => {
    const end = await work();
    if (end && end.outcome !== 'ok') span.fail(end.outcome);
    return end;
  });
};
