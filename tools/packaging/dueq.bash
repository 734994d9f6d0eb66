# Completion of dueq for bash. The program itself names its options, so they are those of the
# version that is installed.
_dueq() {
    local program=$1 word=$2 before=$3 command=${COMP_WORDS[1]}

    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'server bench check dump load version help' -- "$word")
        return
    fi
    case $command,$before,$word in
    server,*,-*)
        mapfile -t COMPREPLY < <(compgen -W "--config $("$program" help server 2>/dev/null |
            grep -o '^  --[a-z-]*')" -- "$word")
        ;;
    bench,bench,*)
        mapfile -t COMPREPLY < <(compgen -W 'push claim work' -- "$word")
        ;;
    bench,*,-*)
        mapfile -t COMPREPLY < <(compgen -W "$("$program" bench help 2>&1 |
            sed -n '/^  --/s/ (.*//p' | grep -oE -- '--[a-z]+')" -- "$word")
        ;;
    help,help,*)
        mapfile -t COMPREPLY < <(compgen -W 'server' -- "$word")
        ;;
    check,*,* | dump,*,* | load,*,* | server,--dir,*)
        compopt -o dirnames 2>/dev/null
        ;;
    server,--config,* | server,server,*)
        compopt -o default 2>/dev/null
        ;;
    esac
} &&
    complete -F _dueq dueq
