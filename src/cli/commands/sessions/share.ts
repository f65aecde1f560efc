import { visibilities } from '../../../schema/reaches.ts';
import { SummaryView } from '../../../schema/views/session.ts';
import { choice, defineCommand, flag, texts } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';

export const share = defineCommand({
  name: 'share',
  summary: 'change who sees a session',
  args: ['SESSION'],
  options: {
    visibility: choice(
      'WHICH',
      visibilities,
      'private: only its owner and the members it is shared with; or workspace',
    ),
    with: texts('MEMBER', 'a member that it is shared with; replaces the earlier list'),
    'with-nobody': flag('share it with no member by name'),
  },
  notes: ['Only the owner of a session may, or an admin. Subagents of the session are shared alike.'],
  examples: ['perdure share ses_… --visibility private', 'perdure share ses_… --with ann --with bob'],
  json: SummaryView,
  run: async (context, { args: [named], options }) => {
    const { visibility, with: members, 'with-nobody': withNobody } = options;
    if (members && withNobody) throw wrongCall('share takes --with or --with-nobody, not both');
    const sharedWith = withNobody ? [] : members;
    if (!visibility && !sharedWith) throw wrongCall('share needs --visibility, --with or --with-nobody');
    const session = await context.session(named!);
    await session.share({ ...(visibility && { visibility }), ...(sharedWith && { sharedWith }) });
    const summary = await session.summary();
    const names = summary.sharedWith?.join(', ') ?? 'nobody by name';
    await context.answer(
      summary,
      () => `${session.id} is ${sight[summary.visibility ?? 'workspace']}; shared with ${names}`,
    );
    return undefined;
  },
});

const sight = { private: 'private', workspace: 'visible in the workspace' } as const;
