# completion of vnicaudit for fish, by: vnicaudit completion fish
function _vnicaudit_completion
    set -lx COMP_WORDS (commandline -cp)
    set -lx COMP_CWORD (commandline -ct)
    set -lx _VNICAUDIT_COMPLETE fish_complete
    set -l program (commandline -opc)[1]
    set -l before (string match -r -- '^--[a-z-]+=' "$COMP_CWORD")
    set -l word (string replace -r -- '^--[a-z-]+=' '' "$COMP_CWORD")
    for line in ($program 2>/dev/null)
        set -l parts (string split -m 1 , -- $line)
        switch $parts[1]
            case dir
                for path in (__fish_complete_directories "$word" '')
                    echo "$before$path"
                end
            case file
                for path in (complete -C "'' $word")
                    echo "$before$path"
                end
            case plain
                echo "$before$parts[2]"
        end
    end
end
complete --no-files --keep-order --command vnicaudit --arguments "(_vnicaudit_completion)"
