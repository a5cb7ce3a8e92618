"""What each shell runs at a Tab: it hands over the words up to the cursor, and shows what comes back.

glass answers a line a word, for zsh and fish with a few words about it. The exit code 1 says that a file may stand
there, which shells complete better themselves. Typer's own scripts would have every answer made by Rich, and zsh
evaluate what it contains.
"""

VARIABLE = "_GLASS_COMPLETE"  # names the shell; set by these scripts alone

BASH = """\
# glass: completion for bash.
_glass_completion() {
    local answer word
    COMPREPLY=()
    if answer=$(_GLASS_COMPLETE=bash "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); then
        while IFS= read -r word; do
            [[ -n $word ]] && COMPREPLY+=("$word")
        done <<< "$answer"
        [[ ${COMPREPLY[0]-} == *[=,:/] ]] && compopt -o nospace 2>/dev/null
    else
        compopt -o default 2>/dev/null
    fi
    return 0
}
complete -F _glass_completion glass
"""

ZSH = """\
#compdef glass
# glass: completion for zsh.
_glass_completion() {
    local answer
    setopt localoptions extendedglob
    local -a found open
    if answer=$(_GLASS_COMPLETE=zsh ${~words[1]} "${(@)words[2,CURRENT]}" 2>/dev/null); then
        found=("${(@f)answer}")
        open=(${(M)found:#[^:]#[=,/](|:*)})
        found=(${found:|open})
        [[ -n $found ]] && _describe -V 'glass' found
        [[ -n $open ]] && _describe -V 'glass' open -S ''
        return 0
    fi
    _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _glass_completion glass
"""

FISH = """\
# glass: completion for fish.
function __glass_completion
    set -l words (commandline -opc) (commandline -ct)
    if set -l answer (env _GLASS_COMPLETE=fish $words 2>/dev/null)
        printf '%s\\n' $answer
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command glass --no-files --keep-order --arguments '(__glass_completion)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
