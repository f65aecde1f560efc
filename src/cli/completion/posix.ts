import type { CompletionTable } from './table.ts';

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Shell code shared by bash and zsh: the table of words, one row per line with tab-separated fields. */
export const posixTable = ({ rows, heads, taking, backingOptions }: CompletionTable): string => `
_perdure_heads=${quoted(` ${heads.join(' ')} `)}
_perdure_taking=${quoted(` ${taking.join(' ')} `)}
_perdure_backing=${quoted(` ${backingOptions.join(' ')} `)}

_perdure_table() {
  case $1 in
${[...rows].map(([name, lines]) => `    ${quoted(name)}) printf '%s\\n' ${lines.map((row) => quoted(row.join('\t'))).join(' ')} ;;`).join('\n')}
  esac
}
`;

/**
 * Walks over the words before the cursor. Finds the command, the number of arguments, an option that lacks its value,
 * and the options for listing ids.
 */
export const posixWalk = `
    if [[ -n $option ]]; then
      [[ $_perdure_backing == *" $option "* ]] && common+=("$option" "$word")
      option=
    elif [[ $word == -?* ]]; then
      [[ $_perdure_taking == *" $word "* ]] && option=$word
      [[ $word == *=* && $_perdure_backing == *" \${word%%=*} "* ]] && common+=("$word")
    elif [[ -z $command ]]; then
      command=$word
    elif [[ $_perdure_heads == *" $command "* ]]; then
      command="$command $word"
    else
      [[ $count == 0 ]] && common+=("$word")
      count=$((count + 1))
    fi`;

/** Splits `--option=value` at the `=`. `apart` is the shell code that runs after a split. */
export const posixTakeApart = (apart: string): string => `
  if [[ -z $option && $cur == --*=* && $_perdure_taking == *" \${cur%%=*} "* ]]; then
    option=\${cur%%=*} cur=\${cur#*=}
    ${apart}
  fi`;

/**
 * Shell code run for each row of the table: sets `found` to the kind of the word at the cursor, or adds the name as a
 * candidate.
 */
export const posixChoose = (take: string): string => `
    if [[ -n $option ]]; then
      [[ $name == "$option" ]] && found=$kind
    elif [[ $kind == command ]]; then
      ${take}
    elif [[ $name == -* ]]; then
      [[ $cur == -* ]] && ${take}
    elif [[ -z $found && $cur != -* && ($name == "$count" || $name == '*') ]]; then
      found=$kind
    fi`;
