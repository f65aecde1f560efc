import { posixChoose, posixTable, posixTakeApart, posixWalk } from './posix.ts';
import type { CompletionTable } from './table.ts';

/** `_describe` separates word and description by a colon, so colons in the word are escaped. */
const describe = `candidates+=("\${name//:/\\\\:}:$about")`;

export const zshScript = (table: CompletionTable): string => `#compdef perdure
# Completion of perdure for zsh: eval "$(perdure completion zsh)" after compinit
${posixTable(table)}
_perdure() {
  local cur=\${words[CURRENT]} command='' option='' found='' word name kind about
  local -i i count=0
  local -a common candidates
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}${posixWalk}
  done${posixTakeApart("compset -P 1 '*='")}
  while IFS=$'\\t' read -r name kind about; do${posixChoose(describe)}
  done < <(_perdure_table "$command")
  case $found in
    '' | @) ;;
    @files) _files; return ;;
    @folders) _files -/; return ;;
    @*)
      while IFS=$'\\t' read -r name about; do
        ${describe}
      done < <("\${words[1]}" complete "\${found#@}" "\${common[@]}" 2>/dev/null </dev/null)
      ;;
    *) candidates=(\${(s:|:)found}) ;;
  esac
  _describe perdure candidates
}
(( $+functions[compdef] )) && compdef _perdure perdure
`;
