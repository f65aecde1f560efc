/** SQL that makes only rows of the transaction's workspace visible and writable, even for the owner of the table. */
export const tenantTable = (name: string): string => `
  alter table perdure.${name} enable row level security;
  alter table perdure.${name} force row level security;
  create policy workspace on perdure.${name}
    using (workspace = current_setting('perdure.workspace', true))
    with check (workspace = current_setting('perdure.workspace', true));
`;
