import type { Session } from '../../core/runtime/session.ts';
import type { OpenOptions } from '../../core/sessions/open-session.ts';
import { chooseAgent, refuseForeign } from '../config/choose-agent.ts';
import { type Context, text } from '../parse/command.ts';
import { parseAbout } from '../parse/parse-about.ts';
import { wrongCall } from '../parse/wrong-call.ts';
import { withProgress } from '../terminal/progress.ts';

/** Options for the files of a new session. */
export const filesOptions = {
  from: text('FOLDER', 'start with a copy of a folder'),
  git: text('REPOSITORY', 'start with a clone of a git repository'),
  ref: text('REF', 'the branch, tag or commit to take from --git'),
  cwd: text('FOLDER', 'work in this folder itself; only one session at a time can'),
};

export const titleOption = { title: text('TEXT', 'the title of a new session, which listings show') };

export const newSessionOptions = {
  agent: text('AGENT', 'the agent of a new session; default the only one there is'),
  ...titleOption,
  ...filesOptions,
};

type Given = { readonly [Name in keyof typeof newSessionOptions]?: string | undefined };
type GivenFiles = Pick<Given, keyof typeof filesOptions>;

const filesOf = ({ server }: Pick<Context, 'server'>, { from, git, ref, cwd }: GivenFiles): OpenOptions['files'] => {
  const given = Object.entries({ from, git, cwd }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`],
  );
  if (given.length > 1) throw wrongCall(`${given.join(' and ')} exclude each other: leave out all but one`);
  if (ref !== undefined && git === undefined) throw wrongCall('--ref needs --git: give both');
  if (given.length > 0 && server !== undefined) {
    throw wrongCall('with a server, a session starts without files: open it, and write them with `perdure files put`');
  }
  if (from !== undefined) return { from };
  if (git !== undefined) return { git, ...(ref !== undefined && { ref }) };
  return cwd === undefined ? undefined : { cwd };
};

export const openNew = async (
  context: Context,
  about: Omit<OpenOptions, 'files'>,
  given: GivenFiles,
): Promise<Session> => {
  const files = filesOf(context, given);
  const sessions = await context.sessions();
  const open = () => sessions.open({ ...about, ...(files && { files }) });
  return files ? withProgress(context.err, () => 'copying the files', open) : open();
};

/** Returns a function that opens the session. Errors in the call are reported before this function is returned. */
export const openerOfNew = async (
  context: Context,
  { agent: named, title, ...files }: Given,
): Promise<() => Promise<Session>> => {
  const about = parseAbout({ title });
  const agent = chooseAgent(await context.config(), named);
  filesOf(context, files);
  return () => openNew(context, { ...about, agent }, files);
};

/** The named session, or a new one. */
export const sessionFor = async (context: Context, named: string | undefined, given: Given): Promise<Session> => {
  if (named === undefined) return (await openerOfNew(context, given))();
  const [wrong] = Object.keys(newSessionOptions).filter((name) => given[name as keyof Given] !== undefined);
  if (wrong) {
    const instead =
      wrong === 'title' ? '`perdure title` gives this one another' : 'this one already has its own, so leave it out';
    throw wrongCall(`--${wrong} is for a new session: ${instead}`);
  }
  const session = await context.session(named);
  if (context.server === undefined) refuseForeign(await context.config(), await session.summary());
  return session;
};
