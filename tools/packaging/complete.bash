# Completion of dueq for bash. `dueq complete` says what may come next, so it is what the version
# that is installed knows.
_dueq() {
    local line

    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        '<files>') compopt -o default 2>/dev/null ;;
        '<directories>') compopt -o dirnames 2>/dev/null ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("$1" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
} &&
    complete -F _dueq dueq
