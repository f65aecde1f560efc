import manifest from '../../package.json' with { type: 'json' };
import { openApi } from '../../src/servers/http/openapi.ts';
import { routes } from '../../src/servers/http/routes/index.ts';
import type { Schema } from './shape-text.ts';

export type Content = Readonly<Record<string, { readonly schema: Schema }>>;

export interface Answer {
  readonly $ref?: string;
  readonly description: string;
  readonly content?: Content;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly 'x-perdure-role': string;
  /** Who may call the route, where the role alone does not decide. */
  readonly 'x-perdure-whom'?: string;
  readonly 'x-perdure-areas': readonly string[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Answer>>;
  };
}

/** The OpenAPI document of the API, with the fields that the pages read. */
export const document = openApi(routes, manifest.version) as unknown as Document;
