import { cliPage } from './cli-page.ts';
import { configurationPage } from './configuration-page.ts';
import { definitionsPage } from './definitions-page.ts';
import { errorsPage } from './errors-page.ts';
import { eventsPage } from './events-page.ts';
import { indexPage } from './index-page.ts';
import { libraryPage } from './library-page.ts';
import { lifecycleTable } from './lifecycle-table.ts';
import { openapiJson, openapiPage } from './openapi-page.ts';
import type { Page, PagePart } from './page.ts';
import { shapesPage } from './shapes-page.ts';

export const pages: readonly Page[] = [
  indexPage,
  cliPage,
  configurationPage,
  definitionsPage,
  errorsPage,
  eventsPage,
  libraryPage,
  openapiPage,
  openapiJson,
  shapesPage,
];

export const pageParts: readonly PagePart[] = [lifecycleTable];
