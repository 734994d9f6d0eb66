# Completion of dueq for fish. `dueq complete` says what may come next.
function __dueq_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in (command $program complete $words "$token" 2>/dev/null)
        switch $line
            case '<files>'
                __fish_complete_path "$token"
            case '<directories>'
                __fish_complete_directories "$token"
            case '*'
                echo $line
        end
    end
end
complete -c dueq -f -a '(__dueq_complete)'
