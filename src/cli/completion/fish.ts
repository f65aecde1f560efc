import type { CompletionTable } from './table.ts';

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

export const fishScript = ({
  rows,
  heads,
  taking,
  backingOptions,
}: CompletionTable): string => `# Completion of perdure for fish: perdure completion fish | source

function __perdure_table
    switch "$argv[1]"
${[...rows].map(([name, lines]) => `        case ${quoted(name)}\n            printf '%s\\n' ${lines.map((row) => quoted(row.join('\t'))).join(' ')}`).join('\n')}
    end
end

function __perdure_candidates
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l command ''
    set -l option ''
    set -l found ''
    set -l count 0
    set -l common
    for word in $words
        if test -n "$option"
            contains -- $option ${backingOptions.join(' ')}; and set -a common $option $word
            set option ''
        else if string match -qr -- '^-.' $word
            contains -- $word ${taking.join(' ')}; and set option $word
            contains -- (string replace -r '=.*' '' -- $word) ${backingOptions.join(' ')}; and string match -q -- '*=*' $word; and set -a common $word
        else if test -z "$command"
            set command $word
        else if contains -- $command ${heads.join(' ')}
            set command "$command $word"
        else
            test $count -eq 0; and set -a common $word
            set count (math $count + 1)
        end
    end
    set -l prefix ''
    set -l parts (string split -m 1 = -- $cur)
    if test -z "$option" -a (count $parts) -eq 2; and contains -- $parts[1] ${taking.join(' ')}
        set option $parts[1]
        set cur $parts[2]
        set prefix $option=
    end
    for line in (__perdure_table $command)
        set -l row (string split \\t -- $line)
        if test -n "$option"
            test "$row[1]" = "$option"; and set found $row[2]
        else if test "$row[2]" = command
            printf '%s\\t%s\\n' $row[1] $row[3]
        else if string match -q -- '-*' $row[1]
            string match -q -- '-*' $cur; and printf '%s\\t%s\\n' $row[1] $row[3]
        else if test -z "$found"; and contains -- $row[1] $count '*'
            set found $row[2]
        end
    end
    __perdure_found "$found" "$cur" $program $common | string replace -r '^' -- $prefix
end

function __perdure_found -a found cur program
    switch "$found"
        case '' @
        case @files
            __fish_complete_path $cur
        case @folders
            __fish_complete_directories $cur
        case '@*'
            $program complete (string sub -s 2 -- $found) $argv[4..] 2>/dev/null </dev/null
        case '*'
            string split '|' -- $found
    end
end

complete -c perdure -f -a '(__perdure_candidates)'
`;
