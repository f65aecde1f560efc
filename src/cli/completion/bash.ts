import { posixChoose, posixTable, posixTakeApart, posixWalk } from './posix.ts';
import type { CompletionTable } from './table.ts';

/** If bash is configured not to split words at `=`, candidates must repeat the option and the `=` before them. */
const prefixWhereWhole = '[[ $COMP_WORDBREAKS == *=* ]] || prefix=$option=';

// The script splits the line at spaces only, because bash itself would split addresses at their colons.
export const bashScript = (
  table: CompletionTable,
): string => `# Completion of perdure for bash: eval "$(perdure completion bash)"
${posixTable(table)}
_perdure() {
  local IFS=$' \\t\\n' line=\${COMP_LINE:0:COMP_POINT} cur command='' option='' found='' prefix='' word name kind about i count=0
  local words=() common=() candidates=()
  COMPREPLY=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  cur=\${words[\${#words[@]} - 1]}
  for ((i = 1; i < \${#words[@]} - 1; i++)); do
    word=\${words[i]}${posixWalk}
  done${posixTakeApart(prefixWhereWhole)}
  while IFS=$'\\t' read -r name kind about; do${posixChoose('candidates+=("$name")')}
  done < <(_perdure_table "$command")
  case $found in
    '' | @) ;;
    @files) compopt -o filenames 2>/dev/null; IFS=$'\\n' COMPREPLY=($(compgen -P "$prefix" -f -- "$cur")); return ;;
    @folders) compopt -o filenames 2>/dev/null; IFS=$'\\n' COMPREPLY=($(compgen -P "$prefix" -d -- "$cur")); return ;;
    @*) candidates=($("\${words[0]}" complete "\${found#@}" \${common[@]+"\${common[@]}"} 2>/dev/null </dev/null | cut -f1)) ;;
    *) candidates=(\${found//|/ }) ;;
  esac
  COMPREPLY=($(compgen -P "$prefix" -W "\${candidates[*]}" -- "$cur"))
}
complete -F _perdure perdure
`;
