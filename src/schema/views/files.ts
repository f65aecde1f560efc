import { z } from 'zod';
import { eventDefinitions } from '../event.ts';
import { Actor, SessionId } from '../ids.ts';
import { Said } from '../said.ts';

const Hash = z.string();
const Entry = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('file'), mode: z.int(), size: z.int(), hash: Hash }),
    z.strictObject({ kind: z.literal('link'), target: z.string() }),
    z.strictObject({ kind: z.literal('folder'), mode: z.int(), hash: Hash }),
  ])
  .meta({ id: 'FileEntry' });
const Place = z.strictObject({ session: SessionId, seq: z.int() });

const path = z.string();
export const FileChangeView = z
  .discriminatedUnion('change', [
    z.strictObject({ change: z.literal('created'), path, after: Entry }),
    z.strictObject({ change: z.literal('deleted'), path, before: Entry }),
    z.strictObject({ change: z.literal('modified'), path, before: Entry, after: Entry }),
    z.strictObject({ change: z.literal('mode-changed'), path, before: Entry, after: Entry }),
    z.strictObject({ change: z.literal('renamed'), path, from: z.string(), before: Entry, after: Entry }),
  ])
  .meta({ id: 'FileChange' });

export const FilesView = z.strictObject({
  files: z.array(
    z.discriminatedUnion(
      'kind',
      Entry.options.map((option) => option.extend({ path })) as unknown as [
        (typeof Entry.options)[0],
        ...(typeof Entry.options)[number][],
      ],
    ),
  ),
});

export const FilesDiffView = z.strictObject({
  from: Place,
  to: Place,
  files: z.array(
    z.strictObject({
      change: FileChangeView,
      content: z
        .discriminatedUnion('kind', [
          z.strictObject({
            kind: z.literal('text'),
            hunks: z.array(
              z.strictObject({
                oldStart: z.int(),
                oldLines: z.int(),
                newStart: z.int(),
                newLines: z.int(),
                lines: z.array(z.string()),
              }),
            ),
          }),
          z.strictObject({ kind: z.literal('binary') }),
          z.strictObject({ kind: z.literal('too-large') }),
        ])
        .optional(),
      unified: z.string(),
    }),
  ),
  unified: z.string(),
});
export const FileChangesView = z.strictObject({ changes: z.array(FileChangeView) });

export const FileHistoryView = z.strictObject({
  versions: z.array(
    z.strictObject({
      path,
      change: z.enum(['created', 'modified', 'deleted', 'renamed']),
      from: z.string().optional(),
      session: SessionId,
      seq: z.int(),
      turn: z.int(),
      at: z.int(),
      actor: Actor,
      cause: z.strictObject({ tool: z.string(), callId: z.string() }).optional(),
      said: Said.optional(),
      why: z.string().optional(),
    }),
  ),
});

export const WrittenFileView = z.strictObject({ path, size: z.int(), hash: Hash, seq: z.int().optional() });

export const RestoredFilesView = z.strictObject({
  of: Place,
  changes: z.array(FileChangeView),
  boundTo: z.looseObject({}).optional(),
  seq: z.int().optional(),
});

export const ArtifactView = eventDefinitions['artifact.kept'].payload
  .extend({ seq: z.int(), at: z.int(), by: Actor })
  .meta({ id: 'Artifact' });
export const ArtifactsView = z.strictObject({ artifacts: z.array(ArtifactView) });
