#compdef dueq
# Completion of dueq for zsh. `dueq complete` says what may come next.
_dueq() {
    local line
    local -a found

    for line in "${(@f)$(${words[1]} complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
        '') ;;
        '<files>') _files ;;
        '<directories>') _files -/ ;;
        *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        *) found+=("${line//:/\\:}") ;;
        esac
    done
    ((${#found})) && _describe dueq found
}
if [[ $funcstack[1] = _dueq ]]; then
    _dueq "$@"
else
    compdef _dueq dueq
fi
