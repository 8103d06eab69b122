# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completes the command lines of all of vRead's programs in bash. The package bash-completion loads
# this file by the name of the program.
#
# Commands and options are not listed here: the programs' help texts have them, and are asked. So a
# completion never differs from the program. Nothing is asked of vreadd or of a guest. Names of
# domains come from `xl list`.

# Prints the help text of a program, or of one of its commands.
_vread_help() {
	local program=$1 command=$2

	case $command:${program##*/} in
	:*) "$program" --help ;;
	*:vread-bench) "$program" "$command" --help ;;
	*) "$program" help "$command" ;;
	esac 2>/dev/null </dev/null
}

# Prints the commands that a help text lists: a lower-case word, two spaces or more, and what it does.
_vread_commands() {
	sed -n 's/^  *\([a-z][a-z-]*\)  .*/\1/p'
}

# Prints the options that a help text lists. A line may have a short and a long one.
_vread_options() {
	sed -n 's/^  *\(-.*\)/\1/p' | sed 's/  .*//' | grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z-]*' |
		grep -oE -- '-.*'
}

# Prints the words that may follow the command, as `check` follows `config`.
_vread_verbs() {
	sed -nE "s/^(usage: | +)[a-z-]+ $1( .*|\$)/\2/p" | tr '|' '\n' |
		sed -nE 's/^ *(\[[^]]*\] )*([a-z]+)( .*|$)/\2/p'
}

# True if the help text on standard input says that this option has an argument.
_vread_has_argument() {
	grep -qE -- "^ +(-[A-Za-z], )?$1[ =][A-Z]"
}

# True if the help text on standard input says that the argument of this option is a domain.
_vread_takes_domain() {
	grep -qE -- "^ +$1 DOMAIN( |\$)"
}

_vread_domains() {
	xl list 2>/dev/null </dev/null | awk 'NR > 1 && $1 != "Domain-0" { print $1 }'
}

_vread_complete() {
	local program=$1 word=$2 previous=$3 command="" help words=""

	[ "$COMP_CWORD" -gt 1 ] && command=${COMP_WORDS[1]}
	[ "$command" = help ] && [ "$COMP_CWORD" -eq 2 ] && command=""
	case $command in
	-*) command="" ;;
	esac
	help=$(_vread_help "$program" "$command")
	# What follows another option with an argument is often a path.
	if _vread_takes_domain "$previous" <<<"$help"; then
		words=$(_vread_domains)
	elif [ "${previous#-}" != "$previous" ] && _vread_has_argument "$previous" <<<"$help"; then
		return
	elif [ "${word#-}" != "$word" ]; then
		words=$(_vread_options <<<"$help")
	elif [ -z "$command" ]; then
		words=$(_vread_commands <<<"$help")
	elif grep -q '^usage:.* DOMAIN' <<<"$help"; then
		words=$(_vread_domains)
	elif [ "$COMP_CWORD" -eq 2 ]; then
		words=$(_vread_verbs "$command" <<<"$help")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

# -o default: names of files, where nothing else fits.
complete -o default -F _vread_complete vread xl-vread vreadd vread-provision \
	vread-peer-certificate vread-ivshmem vread-bench
